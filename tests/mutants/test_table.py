# SPDX-License-Identifier: Apache-2.0
"""The table fits the sources and the tests, without a mutant being built: tests/long does that."""

import re
from collections import Counter

import pytest

from sources import TOP, changed
from table import Wrong, read

SUITE = re.compile(r"^BOOST_AUTO_TEST_SUITE\((\w+)\)", re.MULTILINE)
CASE = re.compile(r"^BOOST_\w+_TEST_CASE(?:_F\(\w+,\s*|\()(\w+)", re.MULTILINE)
MUTANTS, UNNOTICED = read()


def every_test(*kinds):
    return {mutant.test for mutant in MUTANTS if mutant.test.kind in kinds}


@pytest.mark.parametrize("kind", ["unit", "root"])
def test_cases_of_boost_exist(kind):
    names = set()
    for path in TOP.glob(f"tests/{kind}/**/*_test.cpp"):
        text = path.read_text(encoding="utf-8")
        for suite in SUITE.findall(text):
            names |= {suite, *(f"{suite}/{case}" for case in CASE.findall(text))}
    assert {test.cases for test in every_test(kind)} - names == set()


def test_files_of_pytest_exist_and_have_the_first_word():
    for test in every_test("integration"):
        [path] = TOP.glob(f"tests/integration/**/test_{test.name}.py")
        assert re.split(" and | or ", test.cases)[0] in path.read_text(encoding="utf-8"), str(test)


def test_scripts_of_guests_exist():
    for test in every_test("vm"):
        assert (TOP / "tests/vm/guest" / test.cases.replace("-", "/", 1)).is_file(), str(test)


def test_the_text_of_each_stands_in_its_file_once():
    problems = []
    for mutant in MUTANTS + UNNOTICED:
        try:
            changed(TOP, mutant)
        except Wrong as error:
            problems.append(str(error))
    assert problems == []


def test_each_has_a_name_of_its_own_and_changes_something():
    every = MUTANTS + UNNOTICED
    assert [name for name, count in Counter(each.defence for each in every).items() if count > 1] == []
    assert [each.defence for each in every if each.text == each.instead] == []
