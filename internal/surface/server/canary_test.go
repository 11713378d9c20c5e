package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
	"opdeck/internal/surface/cli"
)

// canaries are secrets that are found again wherever they turn up.
var canaries = map[string]string{
	"the password":         "CANARY-pass-w0rd!",
	"a token of the pair":  "CANARYTOKEN",
	"a share token":        "CANARY-share_token-0123456789",
	"the webhooks' secret": "CANARY-hook-0123456789-0123456789-abc",
	"a new secret":         "CANARY-new-hook-0123456789-0123456789",
	"a notice's secret":    "CANARY-notify-0123456789-0123456789-abc",
	"a notice's address":   "CANARY-notify-path",
}

// leaked names the canaries in b, in clear or in a usual coding.
func leaked(b []byte) (out []string) {
	for name, s := range canaries {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
			base64.RawURLEncoding.EncodeToString([]byte(s)), hex.EncodeToString([]byte(s))} {
			if bytes.Contains(b, []byte(form)) {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// TestNoSecretAnywhere (security case A13): marked secrets go all ways through a
// server, its consoles, its commands, faults and a crash, and are in no file, no
// output, no frame, no metric, no record, no evidence and no trace.
func TestNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	box, err := faulty.Open(t.Context(), faulty.Options{Style: faulty.Style{Marker: canaries["a token of the pair"]}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if err := box.Configure(t.Context(), fmt.Appendf(nil, `{"password":%q}`, canaries["the password"])); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(box.Handler())
	defer web.Close()
	p := prepare(t, "")
	conf, err := os.ReadFile(p.file("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	conf = append(conf, "\n[notify]\nsecret_env = \"CANARY_NOTIFY\"\nurl = \""+refuses.URL+"/"+
		canaries["a notice's address"]+"\"\n"...)
	p.write("config.toml", strings.Replace(string(conf), "sandbox = true",
		"base_url = \""+web.URL+"\"\nlogin = \""+sandbox.DefaultLogin+"\"\npassword_env = \"CANARY_PW\"", 1))
	debugging := exec.Command(os.Args[0]) // a flag that makes the library print tokens
	debugging.Env = append(os.Environ(), childKey+"="+p.dir, "GODEBUG=http2debug=2", "CANARY_PW="+canaries["the password"])
	if b, err := debugging.CombinedOutput(); err == nil || !bytes.Contains(b, []byte("does not start with it")) ||
		len(leaked(b)) > 0 {
		t.Errorf("with http2debug: %v, %s", err, b)
	}
	said := &lockedbuffer.Buffer{} // all output for people
	p.out, p.errs = &lockedbuffer.Buffer{}, &lockedbuffer.Buffer{}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKey+"="+p.dir, "HOOK_SECRET="+canaries["the webhooks' secret"],
		"CANARY_PW="+canaries["the password"], verboseKey+"=1", "GOTRACEBACK=all",
		"CANARY_NOTIFY="+canaries["a notice's secret"])
	cmd.Stdout, cmd.Stderr = p.out, p.errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	p.listens()

	ssh := func(in, command string) {
		out, errs, _ := p.run(api.Admin, in, command)
		_, _ = io.WriteString(said, out+errs)
	}
	local := func(in string, args ...string) {
		env := map[string]string{"CANARY_PW": canaries["the password"], "HOOK_SECRET": canaries["the webhooks' secret"],
			"CANARY_NOTIFY": canaries["a notice's secret"]}
		_ = cli.Run(t.Context(), cli.Env{Args: append(args, "--config", p.file("config.toml"), "--state", p.file("state"),
			"--verbose", "--log-file", p.file("log-local")),
			In: strings.NewReader(in), Out: said, Err: said, Getenv: func(k string) string { return env[k] }})
	}
	opid, guid, cuid := p.sample()
	share := canaries["a share token"] + "\n"
	for _, run := range []func(in, command string){ssh, func(in,
		command string) {
		local(in, strings.Fields(command)...)
	}} {
		for _, command := range []string{"session login --yes --yes", "session refresh --yes", "session status -o json",
			"operation get " + opid + " -o json", "document remove " + opid + " " + guid + "",
			"document restore --yes " + opid + " " + guid + "", "doctor -o json", "limits", "customer application " + cuid,
			"hook get -o json", "approval list", "operation get nonsense -o json", "notify test", "config show -o json"} {
			run("", command)
		}
		run(share, "compliance share --yes "+cuid+" -o json")
		run(share, "compliance share --yes "+cuid+" --dry-run")
		run(canaries["a new secret"]+"\n", "hook set --enabled=true --url https://example.com/h --new-secret --yes")
		run(canaries["a new secret"]+"\n", "hook set --enabled=true --new-secret --dry-run")
	}
	web.CloseClientConnections() // answers get lost, new ones are refused
	ssh("", "session refresh --yes --yes -o json")
	ssh(share, "compliance share --yes "+cuid+" -o json")

	c := p.console(p.login(api.Admin))
	for _, keys := range []string{"1", "6", "D", "\x1b", "5", "7", "W", "\x1b", "8", "V", "\x1b", "!", "\x1b", "4", "S",
		strings.TrimSpace(share) + "\r", "\x1b", "\x1b", "o" + opid + "\r", "J", "\x1b", "2", "h"} {
		_, _ = io.WriteString(c.in, keys)
		time.Sleep(60 * time.Millisecond)
	}
	ssh("", "audit list -o json --limit 1000")
	ssh("", "audit export -")
	ssh("", "audit export - --operation "+opid)
	ssh("", "audit verify -o json")
	_, _ = io.WriteString(said, p.scrape())

	web.Close() // the service is gone: every error there is
	ssh("", "operation get "+opid+" -o json")
	ssh("", "session refresh --yes --yes -o json")
	ssh("", "session login --yes --yes -o json")
	local("", "session", "login", "--yes", "-o", "json")
	_ = cmd.Process.Signal(syscall.SIGQUIT) // the crash: every stack goes to standard error
	_ = cmd.Wait()
	if !strings.Contains(p.errs.String(), "goroutine ") {
		t.Errorf("no trace was printed: %.300q", p.errs)
	}

	for _, want := range []string{`msg="opdeck serve started"`, `msg="ssh: login"`, "msg=verdict", "msg=call"} {
		if !strings.Contains(p.errs.String(), want) {
			t.Errorf("the server's log has no %s", want)
		}
	}
	for what, b := range map[string][]byte{"what people were reported": []byte(said.String()),
		"the server's output": []byte(p.out.String() + p.errs.String()), "the screen": []byte(c.out.String())} {
		if len(b) == 0 {
			t.Errorf("%s is empty", what)
		}
		for _, s := range leaked(b) {
			t.Errorf("%s is in %s", s, what)
		}
	}
	files := 0
	err = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		for _, s := range leaked(b) {
			if s == "a notice's address" && filepath.Base(path) == "config.toml" {
				continue // where a person wrote it
			}
			t.Errorf("%s is in the file %s", s, strings.TrimPrefix(path, p.dir))
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
	if log, err := os.ReadFile(p.file("log")); err != nil || !bytes.Contains(log, []byte("call")) {
		t.Errorf("the log says nothing: %v", err)
	}
	if st, err := box.Stats(t.Context()); err != nil || st.Logins == 0 {
		t.Errorf("nobody logged in with the password: %+v, %v", st, err)
	}
	if leak := leaked([]byte("x " + url.PathEscape(canaries["the password"]) + " y")); len(leak) != 1 {
		t.Error("the scan finds nothing")
	}
}
