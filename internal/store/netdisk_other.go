//go:build !linux && !darwin && !freebsd && !windows

package store

func remoteSystem(string) (string, error) { return "", nil }
