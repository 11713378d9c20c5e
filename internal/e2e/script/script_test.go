package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/entry"
)

// TestMain makes the test binary run as opdeck in scripts.
func TestMain(m *testing.M) {
	programs := map[string]func(){"opdeck": func() { os.Exit(entry.Main(cli.Build{Release: "dev"})) }}
	if racedetector.Enabled {
		programs = nil
	}
	testscript.Main(m, programs)
}

// built is a folder with the program built without the race detector, whose
// start would take longer than the scripts' hundreds of commands; "" when the
// test binary itself serves. $OPDECK_TEST_PROGRAM is one that was built before.
func built(t *testing.T) string {
	t.Helper()
	if !racedetector.Enabled {
		return ""
	}
	if program := os.Getenv("OPDECK_TEST_PROGRAM"); program != "" {
		return filepath.Dir(program)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "opdeck"), "opdeck").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func TestScripts(t *testing.T) {
	dir := built(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_CONFIG_HOME", "")
			e.Setenv("XDG_STATE_HOME", "")
			e.Setenv("PW", sandbox.DefaultPassword)
			if dir != "" {
				e.Setenv("PATH", dir+string(os.PathListSeparator)+e.Getenv("PATH"))
			}
			e.Values["world"] = &world{}
			return os.Mkdir(home, 0o700)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "service": cmdService, "stats": cmdStats, "faults": cmdFaults, "json": cmdJSON, "safe": cmdSafe,
			"sharetoken": cmdShareToken, "change": cmdChange, "save": cmdSave, "spread": cmdSpread, "until": cmdUntil,
			"answers": cmdAnswers, "deliver": cmdDeliver,
		},
	})
}

// world is the service of one script.
type world struct{ s *faulty.Service }

func worldOf(ts *testscript.TestScript) *world { return ts.Value("world").(*world) }

// cmdCode is "code N PROGRAM ARGS…": it must exit with N.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// contexts is the config of a script: one account, seen by several people.
const contexts = `default_context = "t"
[views.big]
filter = "currency:EUR"
sort = "-amount"
[limits]
per_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }
%s
`

// cmdService is "service [NAME=VALUE…]": it starts a service on a port and
// writes the config to $WORK/opdeck.toml.
func cmdService(ts *testscript.TestScript, _ bool, args []string) {
	opt, settings := faulty.Options{Options: sandbox.Options{Operations: 60}}, "{}"
	for _, a := range args {
		name, v, _ := strings.Cut(a, "=")
		var err error
		switch name {
		case "fault":
			opt.Faults, err = faulty.ParseFaults(v)
		case "operations":
			opt.Operations, err = strconv.Atoi(v)
		case "baas":
			opt.Faults, err = faulty.ParseFaults("status=share:403/baas")
		case "hard":
			opt.HardLimits = true
		case "totp":
			settings = `{"login_code":"314159"}`
		default:
			err = fmt.Errorf("unknown option %q", name)
		}
		ts.Check(err)
	}
	opt.Odd = true
	s, err := faulty.Open(context.Background(), opt)
	ts.Check(err)
	ts.Check(s.Configure(context.Background(), []byte(settings)))
	server := httptest.NewServer(s.Handler())
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
		_ = s.Close()
	})
	worldOf(ts).s = s
	var people strings.Builder
	for name, line := range map[string]string{"t": "", "ro": "read_only = true", "viewer": `role = "viewer"`, "oncall": `role = "oncall"`,
		"analyst": `role = "analyst"`, "second": `approval = "second_person"`} {
		fmt.Fprintf(&people, "[contexts.%s]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\ntimeout = \"1m\"\n%s\n", name, server.URL, sandbox.DefaultLogin, line)
	}
	file := ts.MkAbs("opdeck.toml")
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, contexts, people.String()), 0o600))
	ts.Setenv("OPDECK_CONFIG", file)
	ts.Setenv("BASE", server.URL)
}

// cmdStats is "stats NAME WANT": a count of the service, "" for none.
func cmdStats(ts *testscript.TestScript, _ bool, args []string) {
	st, err := worldOf(ts).s.Stats(context.Background())
	ts.Check(err)
	all := int64(0)
	for _, n := range st.Requests {
		all += n
	}
	got := map[string]int64{"requests": all, "logins": st.Logins, "refreshes": st.Refreshes, "billing": st.Requests["billing"],
		"general": st.Requests["general"], "unauthorized": st.Unauthorized}
	n, known := got[args[0]]
	if !known || fmt.Sprint(n) != args[1] {
		ts.Fatalf("%s is %d, want %s", args[0], n, args[1])
	}
}

// cmdFaults is "faults SPEC": from now on the service misbehaves.
func cmdFaults(ts *testscript.TestScript, _ bool, args []string) {
	f, err := faulty.ParseFaults(args[0])
	ts.Check(err)
	worldOf(ts).s.SetFaults(f)
}

// cmdChange is "change KIND ID NAME=VALUE…": somebody else changes data.
func cmdChange(ts *testscript.TestScript, _ bool, args []string) {
	ch := faulty.Change{Kind: args[0], ID: args[1]}
	for _, a := range args[2:] {
		name, v, _ := strings.Cut(a, "=")
		switch name {
		case "status":
			ch.Status = v
		case "lock":
			on := v == "true"
			ch.Lock = &on
		case "set":
			ch.Set = json.RawMessage(v)
		case "unset":
			ch.Unset = true
		default:
			ts.Fatalf("unknown %q", name)
		}
	}
	ts.Check(worldOf(ts).s.Change(context.Background(), ch))
}

// cmdJSON is "json FILE PATH WANT": the value at a path like items.0.opid, to
// the letter of the file; "count" is a length.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	got, err := valueAt(ts.ReadFile(args[0]), args[1])
	ts.Check(err)
	if (got == args[2]) == neg {
		ts.Fatalf("%s of %s is %s", args[1], args[0], got)
	}
}

// cmdSave is "save FILE PATH NAME": puts a value of JSON into the environment.
func cmdSave(ts *testscript.TestScript, _ bool, args []string) {
	got, err := valueAt(ts.ReadFile(args[0]), args[1])
	ts.Check(err)
	ts.Setenv(args[2], strings.Trim(got, `"`))
}

// cmdSpread is "spread FILE": $OP0 … are the opids of a list.
func cmdSpread(ts *testscript.TestScript, _ bool, args []string) {
	var list struct{ Items []struct{ Opid string } }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	for i, it := range list.Items {
		ts.Setenv(fmt.Sprintf("OP%d", i), it.Opid)
	}
}

func valueAt(src, path string) (string, error) {
	raw := json.RawMessage(src)
	for _, step := range strings.Split(path, ".") {
		if step == "" {
			continue
		}
		var list []json.RawMessage
		var object map[string]json.RawMessage
		if n, err := strconv.Atoi(step); err == nil || step == "count" {
			if err := json.Unmarshal(raw, &list); err != nil {
				return "", fmt.Errorf("%s: %w", path, err)
			}
			if step == "count" {
				return strconv.Itoa(len(list)), nil
			}
			if n >= len(list) {
				return "", fmt.Errorf("%s: only %d", path, len(list))
			}
			raw = list[n]
			continue
		}
		if err := json.Unmarshal(raw, &object); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		v, ok := object[step]
		if !ok {
			return "", fmt.Errorf("%s: there is no %q", path, step)
		}
		raw = v
	}
	return string(raw), nil
}

// cmdSafe is "safe FILE…": no byte of it could act on a terminal or hide.
func cmdSafe(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		s := ts.ReadFile(name)
		if !utf8.ValidString(s) {
			ts.Fatalf("%s is no UTF-8", name)
		}
		for i, r := range s {
			if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector)) {
				ts.Fatalf("%s holds %U at %d: %q", name, r, i, s[max(0, i-40):min(len(s), i+20)])
			}
		}
	}
}

// cmdShareToken is "sharetoken SCENARIO FILE": a token in a file, $CUID is whom
// it is for, a company. The token of "wrong-kind" is for a person.
func cmdShareToken(ts *testscript.TestScript, _ bool, args []string) {
	list, err := worldOf(ts).s.Unshared(context.Background(), "CORPORATE")
	ts.Check(err)
	token := "demo-corporate-" + args[0] + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if args[0] == "wrong-kind" {
		token = "demo-individual-ok-1"
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(token+"\n"), 0o600))
	ts.Setenv("CUID", list[0])
	ts.Setenv("SHARETOKEN", token)
}

// cmdUntil is "until FILE TEXT": waits until a file that grows holds a text.
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	for range 3000 { // a minute
		if b, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s never came into %s", args[1], args[0])
}

// cmdDeliver is "deliver CODE FILE LOG [PATH [SECRET ALGORITHM]]": it posts a webhook to the receiver of the opdeck serve
// that wrote LOG, signed if there is a secret, and wants that answer.
func cmdDeliver(ts *testscript.TestScript, _ bool, args []string) {
	log, body := ts.ReadFile(args[2]), []byte(ts.ReadFile(args[1]))
	at := regexp.MustCompile(`webhooks=([0-9.:]+)`).FindStringSubmatch(log)
	if at == nil {
		ts.Fatalf("no receiver in %s", log)
	}
	args = append(args, []string{"/hooks", "", ""}[len(args)-3:]...)
	req, err := http.NewRequest(http.MethodPost, "http://"+at[1]+args[3], bytes.NewReader(body))
	ts.Check(err)
	if args[4] != "" {
		receivertest.Sign(req.Header, "", args[5], args[4], body, time.Now())
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	if strconv.Itoa(res.StatusCode) != args[0] {
		ts.Fatalf("answer %d, want %s", res.StatusCode, args[0])
	}
}

// narrow is a config whose second billing call waits for its turn.
func narrow(t *testing.T, wait string) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	src := fmt.Sprintf("[store]\nurl = \"sqlite\"\n[limits]\nmax_wait = %q\nper_minute = { billing = 1 }\n[contexts.t]\nsandbox = true\n", wait)
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--still", "--config", file, "--state", filepath.Join(dir, "state")}
}

// TestInterruptedWhileWaiting stops a command that waits for its turn.
func TestInterruptedWhileWaiting(t *testing.T) {
	t.Parallel()
	flags := narrow(t, "5m")
	var out, errs strings.Builder
	if code := entry.Run(t.Context(), cli.Build{}, append(flags, "operation", "list", "--live"), strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatal(code, errs.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	errs.Reset()
	began := time.Now()
	code := entry.Run(ctx, cli.Build{}, append(flags, "operation", "list", "--live", "-o", "json"), strings.NewReader(""), &out, &errs)
	if code != 130 || !strings.Contains(errs.String(), `"kind":"interrupted"`) || time.Since(began) > 15*time.Second {
		t.Errorf("exit %d after %s: %s", code, time.Since(began), errs.String())
	}
}

// TestInterruptedWhileLoggingIn stops a command that waits for a session.
func TestInterruptedWhileLoggingIn(t *testing.T) {
	t.Parallel()
	faults, err := faulty.ParseFaults("delay=login:1500ms")
	if err != nil {
		t.Fatal(err)
	}
	s, err := faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() { server.Close(); _ = s.Close() })
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	src := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_command = \"echo sandbox\"\n", server.URL, sandbox.DefaultLogin)
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	var out, errs strings.Builder
	began := time.Now()
	code := entry.Run(ctx, cli.Build{}, []string{"--config", file, "--state", filepath.Join(dir, "s"), "customer", "list"}, strings.NewReader(""), &out, &errs)
	if code != 130 || time.Since(began) > 20*time.Second {
		t.Errorf("exit %d after %s: %s", code, time.Since(began), errs.String())
	}
}

// first calls tell once, at the first word.
type first struct {
	once sync.Once
	tell func()
}

func (f *first) Write(b []byte) (int, error) {
	f.once.Do(f.tell)
	return len(b), nil
}

// TestInterruptedServers: an interruption is the orderly end of what runs until then.
func TestInterruptedServers(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"session", "keep"}, {"session", "status", "--watch"},
		{"sandbox", "--addr", "127.0.0.1:0", "--operations", "1"}} {
		flags := narrow(t, "1s")
		ctx, cancel := context.WithCancel(t.Context())
		word := &first{tell: cancel}
		if code := entry.Run(ctx, cli.Build{}, append(flags, args...), strings.NewReader(""), word, word); code != 0 {
			t.Errorf("%v: exit %d", args, code)
		}
		cancel()
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

// TestClosedPipe: a reader that has left is no failure.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	flags := narrow(t, "1s")
	for _, form := range []string{"table", "json", "csv"} {
		var errs strings.Builder
		if code := entry.Run(t.Context(), cli.Build{}, append(flags, "limits", "-o", form), strings.NewReader(""), closedPipe{}, &errs); code != 0 || errs.Len() > 0 {
			t.Errorf("%s: exit %d: %s", form, code, errs.String())
		}
	}
}
