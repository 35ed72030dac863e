"""Formats of images that are read, and how their files are called."""

# Left out are those for which Pillow starts another program, and those it cannot open by itself.
SUFFIXES_OF = {
    name: tuple(f".{suffix}" for suffix in suffixes)
    for name, *suffixes in map(
        str.split,
        """
        AVIF avif avifs
        BMP bmp
        CUR cur
        DCX dcx
        DDS dds
        DIB dib
        FLI fli flc
        GIF gif
        ICNS icns
        ICO ico
        IM im
        JPEG jpg jpeg jpe jfif mpo
        JPEG2000 jp2 j2k jpc jpf jpx j2c
        MSP msp
        PCD pcd
        PCX pcx
        PIXAR pxr
        PNG png apng
        PPM pbm pgm ppm pnm pfm
        PSD psd
        QOI qoi
        SGI bw rgb rgba sgi
        SUN ras
        TGA tga icb vda vst
        TIFF tif tiff
        WEBP webp
        XBM xbm
        XPM xpm
        """.strip().splitlines(),
    )
}
# A file without a suffix is looked at as well.
SUFFIXES = frozenset(suffix for suffixes in SUFFIXES_OF.values() for suffix in suffixes) | {""}
