"""Nothing that is read can run, nothing that is named can leave its place: docs/trust.md."""

import ast
import re
import shlex
import tomllib
from dataclasses import asdict
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path

import pytest
import yaml
from drive import run_stage, write_index
from fake_results import RUNS, full_cell, read_cells, whole_class_cell
from page_reading import draw, report
from small_grid import grid

import collateral
from collateral.config.cells import list_cells
from collateral.config.errors import ConfigError
from collateral.config.load import load, read
from collateral.findings._shared.write import escape_latex, escape_markdown
from collateral.jobs import read_job
from collateral.jobs.base import PlannedBase
from collateral.jobs.data import PlannedData
from collateral.jobs.given import PlannedGiven
from collateral.jobs.retrain import PlannedRetrain
from collateral.jobs.split import PlannedSplit
from collateral.jobs.tables import TablesJob
from collateral.report.decision import CellColumn, Decision, Measured, MethodRow, Score
from collateral.results import layout
from collateral.results.plan import About, BenchmarkPlan, CellPlan
from collateral.results.provenance import write_signed
from collateral.stages.figures import draw_all

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "workflow"
FILES = sorted(WORKFLOW.rglob("*.py"))
RULES = [ROOT / "Snakefile", *sorted(WORKFLOW.glob("rules/*.smk"))]
TEMPLATES = sorted(Path(collateral.__file__).parent.rglob("*.j2"))

# What no code may do. A call is forbidden as it is, or without what makes it harmless.
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
CALLS = {
    *("eval", "exec", "compile", "__import__"),
    *("yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load", "yaml.unsafe_load_all"),
    *("os.system", "os.popen", "tempfile.mktemp", "subprocess.getoutput"),
    *("pd.read_pickle", "pandas.read_pickle", "torch.hub.load", "torch.save"),
    *("Markup", "markupsafe.Markup"),
}
ONLY_WITH = {  # by the end of a call's name: a keyword and the values it must have one of
    "torch.load": ("weights_only", {"True"}),
    "extractall": ("filter", {"'data'"}),
    "extract": ("filter", {"'data'"}),
    "unpack_archive": ("filter", {"'data'"}),
    "Environment": ("autoescape", {"True"}),
}
# Templates of YAML and plain text: nothing of them is shown by a browser.
WITHOUT_HTML = {
    "workflow/collateral/commands/_proposal.py": ["Environment"],
    "workflow/collateral/report/datasheet.py": ["Environment"],
}
NEVER_WITH = {"shell": "True", "allow_pickle": "True"}


def dotted(node):
    """Return the name of what is called: `np.load`; a method of no name, `?.load`."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def wrongs(code):
    """Yield what is forbidden in a text of Python."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from ({alias.name.split(".")[0] for alias in node.names} & MODULES)
        elif isinstance(node, ast.ImportFrom):
            yield from {str(node.module).split(".")[0]} & MODULES
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & CALLS
        elif isinstance(node, ast.Call):
            yield from wrong_call(node)


def wrong_call(node):
    name = dotted(node.func)
    given = {word.arg: ast.unparse(word.value) for word in node.keywords}
    if name in CALLS:
        yield name
    for end, (keyword, allowed) in ONLY_WITH.items():
        is_meant = name == end or name.endswith(f".{end}")
        if is_meant and given.get(keyword) not in allowed:
            yield name
    for keyword, value in NEVER_WITH.items():
        # What is no constant is not known to be harmless.
        if given.get(keyword, "False") != "False":
            yield f"{name}({keyword}={value})"


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "import torch._x, dill.y",
        "eval('1')",
        "exec(text)",
        "compile(text, '', 'exec')",
        "__import__(name)",
        "yaml.load(text, Loader=yaml.SafeLoader)",
        "yaml.unsafe_load(text)",
        "from yaml import load",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "subprocess.run(text, shell=True)",
        "os.system(text)",
        "tarfile.open(path).extractall(folder)",
        "archive.extract(name, filter='fully_trusted')",
        "shutil.unpack_archive(path)",
        "Environment(loader=x)",
        "Environment(autoescape=False)",
        "Markup(text)",
        "pd.read_pickle(path)",
    ],
)
def test_forbidden_code_is_found(code):
    assert list(wrongs(code))


@pytest.mark.parametrize(
    "code",
    [
        "model.eval()",
        "copy.deepcopy(model).eval()",
        "yaml.safe_load(text)",
        "np.load(path)",
        "np.load(path, allow_pickle=False)",
        "torch.load(path, weights_only=True)",
        "subprocess.run([word], shell=False)",
        "archive.extractall(folder, filter='data')",
        "Environment(autoescape=True)",
        "torch.compile(model)",
        "re.compile(text)",
    ],
)
def test_harmless_code_is_not_reported(code):
    assert not list(wrongs(code))


def test_no_code_of_the_workflow_does_it():
    assert len(FILES) > 100
    found = {str(path.relative_to(ROOT)): [*wrongs(path.read_text())] for path in FILES}
    assert {name: wrong for name, wrong in found.items() if wrong} == WITHOUT_HTML


def test_nor_do_rules():
    """Rules are not Python: their lines are looked at."""
    assert len(RULES) > 8
    words = r"\b(pickle|eval|exec|compile|__import__|system|popen|joblib)\(|shell\s*=\s*True"
    assert not [path.name for path in RULES if re.search(words, path.read_text())]


def test_a_tag_of_python_in_a_config_makes_nothing(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(f"benchmarks: !!python/object/apply:os.mkdir ['{tmp_path / 'made'}']\n")
    with pytest.raises((ConfigError, ValueError, yaml.YAMLError)):
        read(path)
    assert not (tmp_path / "made").exists()


# The shell.

PLACES = re.compile(r"(?<!{){([^{}]+)}(?!})")
# Words that the plan has joined for the shell, which the next tests try.
JOINED = {
    "params.beside",  # joined by shlex
}
PLAIN = {"threads"}  # a number


def test_every_value_on_a_command_line_is_quoted():
    """All rules run the one command of rules/lookup.smk."""
    texts = {path.name: path.read_text() for path in RULES}
    shells = [text for one in texts.values() for text in re.findall(r"    shell:\n\s*(.*)", one)]
    assert {*shells} == {"RUN_JOB"} and len(shells) > 10
    (command,) = re.findall(r'RUN_JOB = """((?:.|\n)*?)"""', texts["lookup.smk"])
    values = {*PLACES.findall(command)}
    assert {value for value in values if not value.endswith(":q")} == JOINED | PLAIN
    assert "params.job:q" in values


HOSTILE = r"""<script>alert('1')</script> "$(touch x)" `touch x`; x & | > x _%#{b}~^\ ../../x"""
OWN = {"data": {"name": "arrays", "path": "own.npz"}}  # whose classes may be called anything


@pytest.mark.parametrize("key", ["init", "base"])
def test_a_file_of_weights_of_any_name_is_one_word_to_a_shell(key):
    name = f"{HOSTILE[-60:]}.pt".replace("{b}", "b")
    job = PlannedBase(grid(**{key: {"weights": name, "rename": {HOSTILE: ""}}}), 3)
    assert job.job.own.rename == {HOSTILE: ""}
    assert read_job(job.text) == job.job
    assert job.beside == {"weights": str(Path(name))}


def test_a_file_of_given_weights_of_any_name_is_in_its_description():
    name = HOSTILE[-60:].replace("{b}", "b")
    own = {"weights": f"{name}{{cell}}-{{seed}}.pt", "rename": {HOSTILE: ""}}
    benchmark = grid(given={"its": own}, retrain=own)
    cell = benchmark.cells["digit_3-50"]
    given, retrain = PlannedGiven(benchmark, cell, 3, "its"), PlannedRetrain(benchmark, cell, 3)
    assert given.beside == retrain.beside == {"weights": str(Path(f"{name}digit_3-50-3.pt"))}
    assert given.job.own.rename == {HOSTILE: ""} and read_job(given.text) == given.job


def test_a_class_of_any_name_is_one_word_to_a_shell():
    cells = {"mine": {"forget": {"kind": "class_part", "class": HOSTILE, "fraction": 0.5}}}
    benchmark = grid(**OWN, classes=[], fractions=[], cells=cells)
    (told,) = PlannedData(benchmark).beside["forget"]
    assert told["params"]["class"] == HOSTILE
    job = PlannedSplit(benchmark, benchmark.cells["mine"])
    (word,) = shlex.split(shlex.quote(job.text))
    assert read_job(word).params["class"] == HOSTILE


# Names that become folders.

BAD_NAMES = ("../x", "..", ".", "/x", "a/b", "-x", "", "a b", "a\nb", "a\0b", "A", "~", "$x", "*")


def refused(name, **changes):
    """Return whether a config is refused because of a name in it."""
    with pytest.raises(ConfigError) as error:
        grid(**changes)
    return "not usable as a folder's name" in str(error.value)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_no_benchmark_cell_method_or_sweep_has_a_name_that_leaves_its_folder(name):
    forget = {"kind": "class_part", "class": "digit_3", "fraction": 0.5}
    assert refused(name, cells={name: {"forget": forget}})
    assert refused(name, methods={name: {"uses": "ft"}})
    assert refused(name, sweeps={name: {"method": "ft", "vary": {"lr": [0.5]}}})
    plain = {"data": {"name": "digits"}, "model": "resnet8", "seeds": [0], "classes": ["digit_3"]}
    plain |= {"fractions": [0.5], "methods": {"ft": {}}}
    with pytest.raises(ConfigError, match="not usable as a folder's name"):
        load({"benchmarks": {name: plain}})


@pytest.mark.parametrize("name", [HOSTILE, *BAD_NAMES])
def test_a_class_of_any_name_makes_a_cell_that_stays_in_its_folder(name):
    benchmark = grid(**OWN, classes=[name], fractions=[0.5])
    (cell,) = list_cells(benchmark.config)
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", cell)


@pytest.mark.parametrize("value", ["../../x", "a/b", "a b", "$(x)"])
def test_no_value_of_a_sweep_makes_a_run_that_leaves_its_folder(value):
    with pytest.raises(ConfigError):
        grid(sweeps={"s": {"method": "ltd", "vary": {"teacher": [value]}}}, methods={"ltd": {}})


# Tables, figures and pages.


def hostile(cell):
    """Give every class of a cell a hostile name."""
    for row in (*cell.metrics, *cell.costs):
        row["class"] = HOSTILE
        if row["at"].startswith("digit_"):
            row["at"] += HOSTILE
    return cell


@pytest.fixture
def benchmark(tmp_path):
    """The folder of a benchmark with a part of a class, and a whole one, forgotten."""
    folder = tmp_path / "hostile"
    cells = [hostile(full_cell()), hostile(whole_class_cell())]
    read_cells(folder, *cells)
    plan = BenchmarkPlan(RUNS, "matched", {cell.name: CellPlan() for cell in cells})
    plan.save(folder / layout.PLAN)
    return folder


def test_every_table_writes_a_hostile_name_out(benchmark):
    run_stage(TablesJob, benchmark)
    for suffix, written_out in ((".md", escape_markdown), (".tex", escape_latex)):
        texts = [path.read_text() for path in benchmark.glob(f"tables/*/*{suffix}")]
        assert len(texts) > 8
        assert sum(text.count(written_out(HOSTILE)) for text in texts) > 12
        for text in texts:
            assert HOSTILE not in text
            assert "<script" not in text.replace("$<$script", "")


LATEX_LEFT = re.compile(r"\\[a-zA-Z]+|\\[&%$#_{} ,\\]|\$[^$\n]*\$")


def test_nothing_of_a_hostile_name_is_left_to_latex():
    left = LATEX_LEFT.sub("", escape_latex(HOSTILE))
    assert not re.search(r"[\\$%&#_^~<>|]", left)
    assert left.count("{") == left.count("}")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<b>x</b> & 1 < 2", "&lt;b>x&lt;/b> & 1 < 2"),
        ("&lt;b&#62;", "&amp;lt;b&amp;#62;"),
        ("a_b _c_ *d* ~e~ $f$", r"a_b \_c\_ \*d\* \~e\~ \$f\$"),
        (r"a|b\|", r"a\|b\\\|"),
        ("![x](http://y)", r"![x\](http://y)"),
        ("0.1 [0.0, 0.2]", "0.1 [0.0, 0.2]"),
        ("a\n\n# b\r\x85c\u2028d", "a # b c d"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text, escaped):
    assert escape_markdown(text) == escaped


def test_no_line_of_latex_ends_inside_a_name():
    assert escape_latex("a\n\nb\x0bc") == "a b c"


def test_figures_are_drawn_of_classes_with_hostile_names(tmp_path):
    cell = whole_class_cell(num_seeds=2, num_classes=3)
    for row in cell.metrics:
        row["class"] = r"$\frac{$ a $"
        row["at"] = row["at"].replace("digit_", r"$x^{$")
    (table,) = read_cells(tmp_path / "one", cell).cells
    assert draw_all(table, tmp_path / "figures") == []
    assert (tmp_path / "figures" / table.name / "classes.png").stat().st_size


class Tags(HTMLParser):
    """The tags of a page, and all attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.links = [], set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name == "href"]


def test_no_name_becomes_a_tag_of_the_page(benchmark):
    draw(benchmark, "digit_3-50", ("locality", "similarity"))
    report(benchmark, benchmark)
    page = (benchmark / layout.REPORT).read_text()
    assert "&lt;script&gt;alert" in page
    assert HOSTILE not in page
    tags = Tags(page)
    # Our own: what sorts, Vega, what draws; and data, which nobody runs.
    assert tags.tags.count("script") == 3 + page.count('<script type="application/json"')
    assert not {name for name in tags.attributes if name.startswith("on")}


def test_no_folder_becomes_a_link_that_runs(tmp_path):
    name = "javascript:alert(1)"
    measures = [Measured("near", 0.1, 0.0, 0.2, 0.04, HOSTILE)]
    score = Score(HOSTILE, [HOSTILE, HOSTILE], HOSTILE, HOSTILE, measures, 0.1, 0.5)
    decision = Decision(
        *(HOSTILE, HOSTILE, HOSTILE, HOSTILE, True),
        [CellColumn("cell", HOSTILE, 10, 5, 0.1, 0.1, [HOSTILE], HOSTILE)],
        [MethodRow(HOSTILE, HOSTILE, About(HOSTILE, HOSTILE, "javascript:x"), [score])],
    )
    glance = {"decision": asdict(decision), "problems": [HOSTILE]}
    write_signed(tmp_path / name / layout.GLANCE, glance, tmp_path / name)
    write_index(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "&lt;script&gt;alert" in page and HOSTILE not in page
    tags = Tags(page)
    links = {link.partition("#")[0] for link in tags.links}
    assert links == {"", "javascript%3Aalert%281%29/report.html", "data:,"}
    assert tags.tags.count("script") == 1


def test_no_template_lets_a_text_through_as_it_is():
    assert len(TEMPLATES) > 5
    for path in TEMPLATES:
        assert not re.search(r"\|\s*safe\b|autoescape|\bMarkup\b|innerHTML", path.read_text()), path
        # Between quotes an attribute cannot be left.
        assert not re.search(r"=\s*{{", path.read_text()), path


# What is installed.


def test_every_dependency_is_pinned_to_one_version():
    lines = (ROOT / "envs/constraints.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    assert all(len(pin) == 2 and re.fullmatch(r"[\w.+-]+", pin[1]) for pin in pins)
    pinned = {plain(name) for name, _ in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = {plain(re.split(r"[\[<>=,]", text)[0]) for text in wanted} - {"collateral"}
    assert len(names) > 20
    assert names <= pinned


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()
