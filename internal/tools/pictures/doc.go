// Command pictures makes docs/pictures from the running console on the built-in
// service: each scene opens a console of its own at noon of a fixed
// day, presses keys, and writes what the terminal shows as SVG, dark and light.
//
//	go run ./internal/tools/pictures            # all, into docs/pictures
//	go run ./internal/tools/pictures -only session -text
//
// A test fails when a picture is older than its screen.
package main
