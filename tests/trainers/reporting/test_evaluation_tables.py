"""Tables of made-up results, as text, Markdown and HTML."""

import pytest

from tests.quatre_tf.ranking.evaluations import make_results
from trainers.reporting import evaluation_tables as tables
from trainers.reporting.rendering import Table, as_html, as_markdown, as_text

TABLE = Table("A title", ["", "MRR", "H@10"], [["All <b>"], ["heads", "0.5\n0.4 to 0.6", "1.0"]])


@pytest.fixture
def results():
    return make_results(["likes", "rules"])


def test_text_is_aligned():
    assert as_text(TABLE).split("\n") == [
        "A title",
        "              MRR  H@10",
        "All <b>",
        "heads         0.5   1.0",
        "       0.4 to 0.6",
    ]
    assert as_text(Table("Nothing.", [""], [])) == "Nothing."


def test_markdown_and_html():
    table = Table("A title", ["", "MRR"], [["All"], ["heads", "0.5"]])
    assert as_markdown(table) == "A title\n\n|  | MRR |\n| --- | --- |\n| heads | 0.5 |"
    text = as_html(TABLE)
    assert "<figcaption>A title</figcaption>" in text
    assert "<div>All &lt;b&gt;</div>" in text
    assert "<td>0.5<small>0.4 to 0.6</small></td>" in text


def test_overall_claims_and_values(results):
    title, header, rows = tables.overall(results)
    assert title == (
        f"Filtered ranking, test split: {results.num_triples:,} triples, realistic ties; "
        "with 95 % bootstrap intervals"
    )
    assert header == ["", "MR", "MRR", "H@1", "H@3", "H@10", "AMRI"]
    headings = [row[0] for row in rows if len(row) == 1]
    assert headings[0] == "All entities (the paper's _1)"
    assert "5 of the heads and 5 of the tails are in it only through the test split" in headings[1]
    assert "not in it; they are ranked all the same" in headings[2]
    mrr = results.metrics(side="tail")["mrr"]
    assert rows[3][0] == "tails"
    assert rows[3][2] == f"{mrr:.4f}\n{0.95 * mrr:.4f} to {1.04 * mrr:.4f}"
    assert rows[3][6] == "0.9000"


def test_ties_are_shown_where_they_matter(results):
    other = [row._replace(tie_policy="optimistic", value=0.0125) for row in results.rows[:5]]
    results = type(results)("test", 7, "realistic", (*results.rows, *other))
    (table,) = tables.tie_policies(results)
    assert [row[0] for row in table.rows[:3]] == ["All entities", "realistic", "optimistic"]
    assert table.rows[2][2].startswith("0.0125\n")


def test_comparison_names_the_baseline():
    results = make_results(["likes"], runs=("one", "two"), baseline="two")
    (table,) = tables.comparison(results)
    assert table.title.startswith("Differences from two, paired by triple.")
    assert table.rows[1] == [
        "heads and tails, one",
        *["+0.0\n+0.0 to +0.0\np < 0.001"],
        *["+0.0123\n+0.0023 to +0.0223\np < 0.001"] * 4,
    ]
    assert all(row[0].endswith("one") for row in table.rows if len(row) > 1)
