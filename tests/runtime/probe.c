// SPDX-License-Identifier: BSD-3-Clause
/* A library that test_library.cpp loads. Its file name is not one of the names that it looks up. */
int probe_answer(void);
int probe_answer(void) { return 42; }
