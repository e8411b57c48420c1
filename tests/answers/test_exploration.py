"""Which of many roles behave alike, for people."""

from __future__ import annotations

import re
from typing import Any

from compared import comparison, markdown_tables
from comparison_text import to_text
from explorations import sample_exploration
from timesink.answers.comparison.published_report import comparison_md
from timesink.comparison.results import Cluster, Exploration


def single_cluster() -> Exploration:
    return sample_exploration(clusters=(Cluster(0, (0, 1, 2)),), pairs=())


def lines(exploration: Exploration, **options: Any) -> list[str]:
    return to_text(comparison(exploration=exploration), **options).splitlines()


class TestText:
    def test_the_answer_and_the_threshold_come_first(self):
        first, _, _, _, second, *_ = lines(sample_exploration())
        assert first == "3 processes form 2 groups that behave differently."
        assert second == (
            "Processes form separate groups from a distance of 2: halves of one run are up to 1.8 "
            "apart."
        )

    def test_groups_have_their_representative(self):
        text = lines(sample_exploration())
        place = text.index("Groups of similar processes (2)")
        assert re.fullmatch(r" +1 +2 .* ms +p000", text[place + 3])
        assert re.fullmatch(r" +2 +1 .* ms +p001", text[place + 4])

    def test_every_role_is_in_its_group(self):
        text = lines(sample_exploration())
        place = text.index("Processes (3)")
        assert [line.split()[:2] for line in text[place + 2 : place + 5]] == [
            ["p000", "1"],
            ["p002", "1"],
            ["p001", "2"],
        ]

    def test_a_large_group_shows_some_of_its_roles(self):
        assert "Processes (the first 2 of 3)" in lines(sample_exploration(), top=1)

    def test_groups_are_compared_by_their_representatives(self):
        text = lines(sample_exploration())
        place = text.index("Group 1 → group 2 (distance 9.26)")
        assert text[place + 1] == "p000 and p001"
        assert text[place + 2].startswith("  No change in step time (702 → 697 ms")
        assert any("sm80_gemm_bf16_64x5 " in line for line in text[place:])

    def test_pairs_that_were_left_out_are_counted(self):
        text = "\n".join(lines(sample_exploration(pairs_left_out=4)))
        assert "4 pairs of groups were not compared in full: pairs with the largest group" in text

    def test_groups_say_what_sets_them_apart(self):
        clusters = (Cluster(0, (0, 2)), Cluster(1, (1,), "gpu_frequency on GPU 7: 9 → 2 MHz"))
        text = lines(sample_exploration(clusters=clusters))
        place = text.index("  How each differs from group 1, the largest:")
        assert text[place + 1] == "  group 2: gpu_frequency on GPU 7: 9 → 2 MHz"

    def test_one_table_of_each_pair_can_be_asked_for(self):
        text = lines(sample_exploration(), top=2, table="times")
        assert any(
            line.startswith("Time per step, largest changes (the first 2 of") for line in text
        )
        assert not any(line.startswith("Processes (") for line in text)

    def test_roles_that_are_all_alike_have_no_comparison(self):
        text = lines(single_cluster())
        assert text[0] == "All 3 processes behave the same."
        assert not [line for line in text if line.startswith("Group 1")]


class TestMarkdown:
    def test_roles_and_clusters_are_tables(self):
        overview, clusters = markdown_tables(
            comparison_md(comparison(exploration=sample_exploration()))
        )[:2]
        assert overview[0] == ["Role", "Cycles", "Avg Cycle Time (us)", "File", "PID", "Cluster"]
        assert [row[0] for row in overview[1:]] == ["p000", "p001", "p002"]
        assert clusters[1] == ["1", "p000", "2", "p000, p002"]

    def test_clusters_say_what_sets_them_apart(self):
        clusters = (Cluster(0, (0, 2)), Cluster(1, (1,), "gpu_frequency on GPU 7: 9 → 2 MHz"))
        report = comparison_md(comparison(exploration=sample_exploration(clusters=clusters)))
        assert "- **Cluster 2**: gpu_frequency on GPU 7: 9 → 2 MHz" in report

    def test_each_pair_is_a_report_under_the_third_section(self):
        report = comparison_md(comparison(exploration=sample_exploration()))
        headings = re.findall(r"^#.*", report, re.MULTILINE)
        assert headings[3:6] == [
            "## 3. Comparisons Between Clusters",
            "### Performance Comparison: p000 vs p001",
            "#### 1. High-Level Performance Summary",
        ]

    def test_roles_that_are_all_alike_are_said_to_be(self):
        assert "All roles are alike." in comparison_md(comparison(exploration=single_cluster()))
