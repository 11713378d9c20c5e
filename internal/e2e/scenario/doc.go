// Package scenario holds the session's scenarios S01 to S38 (session protocol,
// section 4) as tests with real processes: the test binary starts itself again
// as the built-in service on TCP, as workers that hold the api client and the
// session manager on one shared store, and as the opdeck program. There is
// nothing here to import.
//
// Lifetimes are short (access 3 to 12 s), so that the whole package is over in
// a minute and a half. OPDECK_TEST_LONG=1 runs the long versions as well:
// more repetitions and minutes instead of seconds. What fails in the short run is
// tried again alone, unless no machine excuses it.
package scenario
