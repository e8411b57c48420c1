"""Work of embedding tables, against counts in plain loops and recorded calls."""

from __future__ import annotations

import pytest

from timesink.analyses.work.arguments import CallArguments, RunFacts, parse_inputs, parse_values
from timesink.analyses.work.formulas import Work, work_of


def recorded_work(name: str, dims: str, types: str, values: str = "") -> Work | None:
    kinds = {"f": "float", "h": "c10::Half", "i": "int", "l": "long", "-": "", "s": "Scalar"}
    listed = "[" + ",".join(f'"{kinds[letter]}"' for letter in types) + "]"
    return work_of(CallArguments(name, parse_inputs(dims, listed), parse_values(values)))


FORWARD = "fbgemm::split_embedding_codegen_forward_cpu"


class TestLookup:
    def test_rows_of_one_table_added_up(self):
        """Two bags of three rows each, of a table with ten rows of four."""
        work = recorded_work(
            FORWARD,
            *("[[40],[1],[2],[],[2],[6],[3],[],[],[]]", "hlisllls-s"),
            '["","","","4","","","","0","","0"]',
        )
        additions = sum(4 for _bag in range(2) for _row in range(3))
        assert work.vector_flop == additions
        assert work.read_bytes == 6 * 8 + 3 * 8 + 6 * 4 * 2
        assert work.written_bytes == 2 * 4 * 4

    def test_tables_are_read_at_most_once(self):
        """As recorded: 39 288 indices into ten rows of 128."""
        work = recorded_work(
            FORWARD,
            *("[[1280],[1],[2],[],[2],[39288],[1025],[],[39288],[]]", "hlisllls" + "fs"),
            '["","","","128","","","","0","","0"]',
        )
        assert work.read_bytes == 39288 * 8 + 1025 * 8 + 39288 * 4 + 1280 * 2
        assert work.written_bytes == 1024 * 128 * 4
        assert work.vector_flop == 2 * 39288 * 128
        assert "row of its own" in work.assumed

    def test_without_values_the_width_comes_from_the_tables(self):
        """As recorded in 2022: a state of one number per row tells how many rows there are."""
        work = recorded_work(
            "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
            "[[0],[96000],[0],[0,0],[1],[1],[2],[],[],[2],[],[59152],[8193],[],[59152],[],[0],[],"
            "[],[],[1000]]",
            "ffffilissls" + "llsf-isssf",
        )
        assert work.written_bytes == 8192 * 96 * 4
        assert work.read_bytes == (59152 + 8193) * 8 + 59152 * 4 + 96000 * 4

    def test_rows_that_are_not_added_up_are_copied(self):
        work = recorded_work(
            FORWARD,
            *("[[40],[1],[2],[],[2],[6],[3],[],[],[]]", "hlisllls-s"),
            '["","","","4","","","","2","","0"]',
        )
        assert (work.vector_flop, work.written_bytes) == (0, 6 * 4 * 4)


class TestBackward:
    NODE = "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>"
    DIMS = (
        "[[1024,648],[6480],[6],[6],[7],[],[7],[],[73087],[6145],[],[],[],[60],[6],[6],[1],[],[],[],"
        "[],[]]"
    )

    def test_of_a_recorded_call(self):
        work = recorded_work(
            "fbgemm::split_embedding_backward_codegen_rowwise_adagrad_cpu",
            *(self.DIMS, "fhilislsl" + "ls-sfil" + "fsssss"),
        )
        assert work.written_bytes == 6480 * 2 + 60 * 4
        assert work.read_bytes == 1024 * 648 * 4 + (73087 + 6145) * 8 + work.written_bytes
        assert "equally often" in work.assumed

    def test_the_gradient_alone_does_not_tell(self):
        assert recorded_work(self.NODE, "[[8192, 8720]]", "f") is None

    def test_of_a_gradient_by_the_lookup_of_its_width(self):
        """A table of 1000 rows of 96, asked 60 000 times for 8192 bags: all rows are moved."""
        dims = "[[0],[96000],[0],[0,0],[1],[1],[2],[],[],[2],[],[60000],[8193],[],[0],[],[0],"
        dims += "[],[],[],[1000]]"
        types = '["float","float","float","float","int","long","int","Scalar","Scalar","long",'
        types += (
            '"Scalar","long","long","Scalar","float","","int","Scalar","Scalar","Scalar","float"]'
        )
        name = "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function"
        lookup = CallArguments(name, parse_inputs(dims, types))
        inputs = parse_inputs("[[8192, 96]]", '["float"]')
        work = work_of(CallArguments(self.NODE, inputs, facts=RunFacts(lookups=(lookup,))))
        assert work is not None
        assert work.written_bytes == (96000 + 1000) * 4
        assert work.read_bytes == (8192 * 96 + 97000) * 4 + (60000 + 8193) * 8
        other = parse_inputs("[[4096, 96]]", '["float"]')
        call = CallArguments(self.NODE, other, facts=RunFacts(lookups=(lookup,)))
        assert work_of(call) is None


class TestOrder:
    @pytest.mark.parametrize(
        ("name", "dims", "types"),
        [
            ("fbgemm::permute_pooled_embs_auto_grad", "[[4,9],[3],[2],[3],[2]]", "fllll"),
            ("fbgemm::recat_embedding_grad_output_mixed_D_batch", "[[4,9],[8],[8]]", "fll"),
            (
                "torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction<&f> >",
                *("[[4,9]]", "f"),
            ),
        ],
    )
    def test_columns_are_read_and_written_once(self, name: str, dims: str, types: str):
        work = recorded_work(name, dims, types)
        assert (work.read_bytes, work.written_bytes, work.flop) == (4 * 36, 4 * 36, 0)

    def test_features(self):
        full_work = recorded_work(
            "fbgemm::permute_sparse_features", "[[3],[3,4],[50],[50]]", "iiif"
        )
        assert (full_work.read_bytes, full_work.written_bytes) == (12 + 48 + 400, 48 + 400)
        assert not full_work.assumed
        repeated = recorded_work("fbgemm::permute_sparse_features", "[[6],[3,4],[50],[]]", "iii-")
        assert repeated.written_bytes == 2 * (48 + 200)
        assert repeated.assumed
        few = recorded_work(
            "fbgemm::permute_2D_sparse_data",
            *("[[1],[3,4],[50],[],[]]", "iii-s", '["","","","","10"]'),
        )
        assert (few.read_bytes, few.written_bytes) == (4 + 16 + 40, 16 + 40)

    def test_sums_and_checks(self):
        added = recorded_work("fbgemm::asynchronous_complete_cumsum", "[[8192]]", "i")
        assert (added.vector_flop, added.written_bytes) == (8192, 4 * 8193)
        checked = recorded_work(
            "fbgemm::bounds_check_indices", "[[1],[60],[9],[],[1],[]]", "llls" + "l-"
        )
        assert checked.read_bytes == 8 * (1 + 60 + 9)


class TestSeveralLengths:
    def test_to_bags_of_the_same_length(self):
        work = recorded_work("fbgemm::jagged_2d_to_dense", "[[50,8],[5],[]]", "fls", '["","","20"]')
        assert (work.read_bytes, work.written_bytes) == (50 * 8 * 4, 4 * 20 * 8 * 4)

    def test_rows_times_the_matrix_of_their_bag(self):
        """Bags of one, two and three rows of four, each with its matrix of four by five."""
        work = recorded_work("fbgemm::jagged_dense_bmm", "[[6,4],[4],[3,4,5],[]]", "flfs")
        flop = sum(2 * 4 * 5 for length in (1, 2, 3) for _row in range(length))
        assert work.matrix_flop == flop
        both = recorded_work("fbgemm::jagged_jagged_bmm", "[[6,4],[6,5],[4],[]]", "ffls")
        assert (both.matrix_flop, both.written_bytes) == (flop, 3 * 4 * 5 * 4)
