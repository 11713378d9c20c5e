// Command bench measures what the console costs: it builds the program, fills an
// index, runs the console in a pseudo-terminal with a terminal emulator behind
// it, uses it like a person would, and prints a table of marks and figures.
//
//	go run ./internal/tools/bench                 # 100,000 operations, five minutes
//	go run ./internal/tools/bench -million        # and once more with 1,000,000
//	go run ./internal/tools/bench -quick          # does everything work? some seconds
//
// Linux only: CPU time, memory and wake-ups come from /proc. Every time is from
// just before the key is written (or the process started) to the arrival of the
// output that made the difference, stamped before the emulator works it off.
// Run nothing else meanwhile.
package main
