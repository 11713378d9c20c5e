//go:build unix

package scenario

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// The account of every service.
const (
	account  = "machine@scenario"
	password = "pw-MARKERpassword"
)

// serviceOptions is the part of sandbox.Options that scenarios set.
type serviceOptions struct {
	Access, Refresh time.Duration
	Faults          string
	Password        string
	Operations      int // 0: three
}

// playServices serves one service per line of standard input and answers with
// its address.
func playServices() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var o serviceOptions
		addr := ""
		err := json.Unmarshal(in.Bytes(), &o)
		if err == nil {
			addr, err = serve(o)
		}
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		fmt.Println(addr)
	}
}

func serve(o serviceOptions) (string, error) {
	faults, err := faulty.ParseFaults(o.Faults)
	if err != nil {
		return "", err
	}
	s, err := faulty.Open(context.Background(), faulty.Options{Options: sandbox.Options{Operations: cmp.Or(o.Operations, 3), AccessTTL: o.Access,
		RefreshTTL: o.Refresh}, Faults: faults, Style: faulty.Style{Marker: "MARKERtoken"}})
	if err != nil {
		return "", err
	}
	settings := fmt.Appendf(nil, `{"login":%q,"password":%q,"strict_login":true}`, account, cmp.Or(o.Password, sandbox.DefaultPassword))
	if err := s.Configure(context.Background(), settings); err != nil {
		return "", err
	}
	out, said := io.Pipe()
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(context.Background(), "127.0.0.1:0", said) }()
	line := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		first, _ := r.ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, r)
	}()
	select {
	case err := <-failed:
		return "", err
	case first := <-line:
		_, addr, _ := strings.Cut(strings.TrimSpace(first), "http://")
		return addr, nil
	}
}

// services is the process that serves for all tests.
type services struct {
	mu  sync.Mutex // guards both ends
	in  io.Writer
	out *bufio.Reader
}

var theServices = sync.OnceValues(func() (*services, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(childEnv(), roleEnv+"=service")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &services{in: in, out: bufio.NewReader(out)}, cmd.Start() // ends with our end of the pipe
})

// service is one built-in service with a relay before it, as a scenario has it.
type service struct {
	t    testing.TB
	addr string // its own; admin calls go there
	*relay
}

// newService starts a service and a relay before it.
func newService(t testing.TB, o serviceOptions) *service {
	t.Helper()
	if o.Password == "" {
		o.Password = password
	}
	if o.Access == 0 {
		o.Access, o.Refresh = 8*time.Second, 24*time.Second
	}
	all, err := theServices()
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if _, err := all.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	addr, err := all.out.ReadString('\n')
	if err != nil || strings.HasPrefix(addr, "error") {
		t.Fatalf("service: %s %v", addr, err)
	}
	addr = strings.TrimSpace(addr)
	return &service{t: t, addr: addr, relay: newRelay(t, "tcp", addr)}
}

// url is where clients find the service: at the relay.
func (s *service) url() string { return "http://" + s.relay.addr }

// admin makes a call to the admin endpoint.
func (s *service) admin(method, path string, body, into any) {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(method, "http://"+s.addr+"/sandbox/"+path, bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
	}
}

func (s *service) faults(spec string) {
	s.t.Helper()
	s.admin("PUT", "faults", map[string]string{"spec": spec}, nil)
}

func (s *service) stats() faulty.Stats {
	s.t.Helper()
	var st faulty.Stats
	s.admin("GET", "stats", nil, &st)
	return st
}
