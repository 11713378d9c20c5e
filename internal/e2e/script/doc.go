// Package script runs the program's commands in scripts.
package script
