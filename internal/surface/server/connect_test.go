package server

import (
	"strings"
	"testing"
)

// The server prints the command to connect with, by an address that people can type.
func TestConnectCommand(t *testing.T) {
	for listens, want := range map[string]string{"127.0.0.1:2222": "ssh -p 2222 NAME@127.0.0.1,",
		"[::1]:22":     "ssh -p 22 NAME@::1,",
		"0.0.0.0:2222": "ssh -p 2222 NAME@HOST,", "[::]:2022": "ssh -p 2022 NAME@HOST,"} {
		if got := connectCommand(listens); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", listens, got)
		}
	}
}
