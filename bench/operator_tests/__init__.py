"""Five tests of one small operator, with several test harnesses; `bench.testing` measures them."""
