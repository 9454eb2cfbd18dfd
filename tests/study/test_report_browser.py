"""The page of a report in a real browser: no errors, tables that sort, no sideways scrolling.

Needs chromium and chromedriver (Debian: ``apt install chromium chromium-driver``) and selenium;
nothing is downloaded.
"""

import shutil

import pytest
from study_outcomes import SETTINGS, fake_sheets, fake_study

from skml_odm.study.report import write_report

pytest.importorskip("matplotlib")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="there is no chromium with chromedriver on this machine"
    ),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from selenium.webdriver.chrome.service import Service

    folder = tmp_path_factory.mktemp("report")
    outcomes = fake_study(n_sets=4, n_classifiers=9, n_folds=3)
    title = "<b>A study</b>"
    write_report(outcomes, folder, title=title, sheets=fake_sheets(4), settings=SETTINGS)
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.get((folder / "report.html").as_uri())
        yield driver
    finally:
        driver.quit()


def show(page, width, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def column(page, place):
    """Shown texts of a column of the first measure's table."""
    script = """
    const rows = document.querySelector("#ranking-loss table").tBodies[0].rows;
    return [...rows].map((row) => row.cells[arguments[0]].textContent);
    """
    return page.execute_script(script, place)


def heading(page, place):
    return page.find_elements("css selector", "#ranking-loss thead th")[place]


def test_no_errors_and_the_title_as_it_is(page):
    assert page.get_log("browser") == []
    assert page.title == "<b>A study</b>"
    assert page.find_element("tag name", "h1").text == "<b>A study</b>"


def test_a_click_sorts_a_table_and_another_one_turns_it(page):
    before = column(page, 1)
    button = heading(page, 1).find_element("tag name", "button")
    button.click()
    assert heading(page, 1).get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == sorted(before, key=lambda text: float(text.split()[0])) != before
    button.click()
    assert heading(page, 1).get_attribute("aria-sort") == "descending"
    assert column(page, 1) == sorted(before, key=lambda text: -float(text.split()[0]))
    # the average ranks stay where they are
    foot = page.find_element("css selector", "#ranking-loss tfoot th").text
    assert foot == "average rank"


@pytest.mark.parametrize("key", ["\ue007", " "], ids=["enter", "space"])
def test_keys_sort_a_table(page, key):
    heading(page, 3).find_element("tag name", "button").click()
    button = heading(page, 0).find_element("tag name", "button")
    page.execute_script("arguments[0].focus()", button)
    button.send_keys(key)
    assert heading(page, 0).get_attribute("aria-sort") == "ascending"
    assert heading(page, 3).get_attribute("aria-sort") == "none"
    assert column(page, 0) == ["birds", "emotions", "scene", "yeast"]


@pytest.mark.parametrize("width", [360, 1280])
def test_only_tables_scroll_sideways_and_names_stay(page, width):
    show(page, width, "light")
    size = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]"
    scroll, client, window = page.execute_script(size)
    assert window == width
    assert scroll <= client
    if width == 360:
        script = """
        const box = document.querySelector("#ranking-loss .scroll");
        const cell = box.querySelector("tbody th"), before = cell.getBoundingClientRect().left;
        box.scrollLeft = 200;
        return [box.scrollLeft, before, cell.getBoundingClientRect().left];
        """
        moved, before, after = page.execute_script(script)
        assert moved == 200
        assert before == after


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_of_pictures_stand_out(page, scheme):
    show(page, 1280, scheme)
    script = """
    const of = (element, name) => getComputedStyle(element)[name].match(/\\d+/g).map(Number);
    const lines = [...document.querySelectorAll("#margins svg path")].filter(
      (path) => path.style.fill === "none" && path.style.stroke.startsWith("var(--line"));
    return [
      of(document.body, "backgroundColor"),
      [...document.querySelectorAll("svg text")].map((text) => of(text, "fill")),
      lines.map((line) => of(line, "stroke")),
    ];
    """
    background, texts, lines = page.execute_script(script)
    assert len(texts) > 50 and len(lines) > 30
    assert min(contrast(background, colour) for colour in texts) > 7
    assert min(contrast(background, colour) for colour in lines) > 3


def contrast(first, second):
    """Ratio of the luminances of two colours, as accessibility guidelines define it."""
    light = []
    for colour in (first, second):
        parts = [c / 255 for c in colour[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        light.append(0.05 + 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return max(light) / min(light)
