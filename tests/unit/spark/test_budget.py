"""How many leases the tenures of one driver may begin together."""

from concurrent.futures import ThreadPoolExecutor

from airflow_coordination.spark.worker_pool import Budget, Following


def test_threads_take_no_more_than_there_is():
    budget = Budget(100, None)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: budget.take(), range(300)))
    assert sum(taken) == 100


def test_what_no_lease_was_found_for_is_there_again():
    budget = Budget(1, None)
    assert (budget.take(), budget.take()) == (True, False)
    budget.give_back()
    assert (budget.take(), budget.take()) == (True, False)


def test_after_its_time_only_the_first_begins():
    budget = Budget(None, 0.0)
    assert (budget.take(), budget.take()) == (True, False)


def test_whether_there_is_more_is_seen_without_taking_it():
    late, spent = Budget(None, 0.0), Budget(1, None)
    assert (late.left, late.left, late.take(), late.left) == (True, True, True, False)
    assert (spent.left, spent.take(), spent.left) == (True, True, False)
    spent.give_back()
    assert spent.left


def test_a_tenure_that_found_nothing_to_go_on_with_gives_back():
    budget = Budget(1, None)
    wants = Following(budget)
    assert wants()
    wants.settle(found=False)
    assert budget.take()


def test_a_tenure_that_asked_for_nothing_gives_nothing_back():
    budget = Budget(1, None)
    assert budget.take()
    asked = Following(budget)
    assert not asked()
    asked.settle(found=False)
    assert not budget.take()
