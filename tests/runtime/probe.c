/* A library to be found, by a name that nobody knows in advance. */
int probe_answer(void);
int probe_answer(void) { return 42; }
