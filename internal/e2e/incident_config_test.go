//go:build linux

package e2e

import (
	"net"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
)

func listenLocal() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// again is the service of a scene after it had gone, at its address.
func (s *scene) again() {
	s.t.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.up.Server = httptest.NewUnstartedServer(s.up)
	_ = s.up.Listener.Close()
	s.up.Listener = l
	s.up.Start()
}

// mistaken is a mistake in the config of a host: no process starts with it.
func mistaken(wrong, right func(s *scene), says string) incident {
	return corrected(wrong, right).says("config.toml:3: unknown key.", says).
		unlike(healthz, "the server does not start").unlike(plain, "the console does not start")
}

// writable makes the config writable for everybody.
func writable(s *scene) { s.changes("opdeck.toml", 0o666) }

// changes gives a file of the scene other permissions.
func (s *scene) changes(name string, to os.FileMode) {
	s.t.Helper()
	if err := os.Chmod(s.file(name), to); err != nil {
		s.t.Fatal(err)
	}
}

// script is a command of the scene's home.
func (s *scene) script(text string) string {
	name := s.write("vault", "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(name, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return name
}

func configIncidents() map[string]incident {
	plainly := func(s *scene) { s.context = "" }
	return map[string]incident{
		"a process with an older config": incident{live: true, begin: func(s *scene) {
			s.rest = "[ui]\nmouse = false\n"
			s.configure()
			s.until(atMost(soon), func() string { return "nobody says that the config is older" }, func() bool {
				return strings.Contains(s.run("check", "config").out, "older config")
			})
		}, mend: func(s *scene) {
			s.stops()
			s.serves()
		}}.says("Process 7 of a", `Process \d+ of [^ ]+`).says("config.toml", `[^ ]*opdeck\.toml`).
			unlike(sessionCheck, "the session works"),
		"46 config": mistaken(func(s *scene) { s.context = "timeout = = 3\n" }, plainly,
			`[^ ]*opdeck\.toml:7: contexts\.t\.timeout: expected value but found '=' instead\.`),
		"47 unknown key": mistaken(func(s *scene) { s.context = "timeot = \"3s\"\n" }, plainly,
			`[^ ]*opdeck\.toml:7: contexts\.t\.timeot: unknown key; did you mean timeout\?`),
		"48 config that others may write": incident{live: true, begin: writable, mend: func(s *scene) { s.changes("opdeck.toml", 0o600) }}.
			says("config.toml: others may write to it (mode 0666); chmod go-w.",
				`[^ ]*opdeck\.toml: others may write to it \(mode 0666\); chmod go-w\.`).
			unlike(healthz, "the server goes on with the config that it has read").
			unlike(metrics, "the server goes on with the config that it has read").
			unlike(plain, "the console does not start"),
		"51 password command fails": corrected(func(s *scene) {
			s.password = "password_command = " + strconv.Quote(s.script("echo the vault is sealed >&2; exit 3"))
		}, func(s *scene) { s.password = `password_env = "PW"` }).says("password_command ended with 3: the vault is sealed.",
			`password_command failed: exit status 3; it says: "the vault is sealed"\.`),
		"75 live, then gone": {live: true, begin: func(s *scene) {
			s.up.CloseClientConnections()
			s.up.Close()
		}, mend: (*scene).again},
	}
}
