"""Find and check plug-ins: methods, models, data sets, forget sets, findings, commands."""
