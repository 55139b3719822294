"""Figures as a person reads them: three digits, a unit, the interval, or why there is no value."""

from stages.contract import Figure

GIB = 2**30
MIB = 2**20


def number(value: float) -> str:
    """Three significant digits, thousands grouped, never an exponent for everyday sizes."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size < 1e-4:
        return f"{value:.2e}"
    if size >= 100:
        return f"{value:.0f}"
    text = f"{value:.3g}"
    return f"{float(text):.10f}".rstrip("0").rstrip(".") if "e" in text else text


def say(figure: Figure, unit: str = "", with_interval: bool = True) -> str:
    """Such as "374 ms (360 to 390)", or "unknown: reason"."""
    if figure.value is None:
        return f"unknown: {figure.reason}"
    ending = unit if unit in {"", "×"} else f" {unit}"
    text = f"{number(figure.value)}{ending}"
    if with_interval and figure.low is not None and figure.high is not None:
        text += f" ({number(figure.low)} to {number(figure.high)})"
    return text


def say_percent(figure: Figure, signed: bool = False) -> str:
    """A fraction as a percentage."""
    if figure.value is None:
        return f"unknown: {figure.reason}"
    return f"{figure.value * 100:+.1f} %" if signed else f"{figure.value * 100:.1f} %"


def say_bytes(figure: Figure) -> str:
    """Mebibytes or gibibytes."""
    if figure.value is None:
        return f"unknown: {figure.reason}"
    if abs(figure.value) >= GIB:
        return f"{number(figure.value / GIB)} GiB"
    return f"{number(figure.value / MIB)} MiB"


def say_claim(claim: bool | None) -> str:
    """A claim that holds, does not, or could not be looked at."""
    return "not known" if claim is None else "yes" if claim else "no"
