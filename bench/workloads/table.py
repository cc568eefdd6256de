"""The table of a comparison: a row for each measure, with the ratio of Setpoint's value to that of each other tool."""

_WIDTH = 66

# The value of a measure by the name of the tool.
Values = dict[str, float]
# The values of one tool by the name of the measure, which ends with its unit.
Found = dict[str, float]


def heading(names: list[str]) -> str:
    return f"{'':<{_WIDTH}} {'':<7}" + "".join(f"{name:>22}" for name in names)


def row(label: str, values: Values, names: list[str]) -> str:
    """Returns the line of a measure. The first name is Setpoint's."""
    ours = values[names[0]]
    name, unit = label.rsplit(", ", 1)

    def cell(tool: str) -> str:
        if (value := values.get(tool)) is None:
            return "–"
        ratio = "" if tool == names[0] or not value else f" ({ours / value:.2f}x)"
        return f"{value:,.0f}{ratio}" if value >= 100 or value == int(value) else f"{value:.3g}{ratio}"

    return f"{name:<{_WIDTH}} {unit:<7}" + "".join(f"{cell(tool):>22}" for tool in names)
