//go:build !unix

// Package harden closes what the system leaves open about a running process.
package harden

// Process does nothing: this system writes no core files of its own accord.
func Process() error { return nil }
