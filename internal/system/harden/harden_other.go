//go:build !unix

// Package harden protects the memory of the running process.
package harden

// Process does nothing: this system writes no core files by default.
func Process() error { return nil }
