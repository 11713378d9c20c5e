package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api/secret"
)

var notice = Notice{ID: "ntc_1", Kind: Cause, Context: "stage", Severity: "critical",
	Sentence: "The service refuses connections.", Command: "opdeck doctor"}

// TestCommand: a program gets the notice on standard input and in variables, beside the environment that it is given.
func TestCommand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	c := Command{Argv: []string{"sh", "-c", `cat > "$1"; env >> "$1"`, "sh", file}, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/x"}}
	if err := c.Send(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line, vars, _ := strings.Cut(string(b), "\n")
	var got Notice
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.ID != "ntc_1" || got.Sentence != notice.Sentence {
		t.Errorf("%s, %v", line, err)
	}
	for _, want := range []string{"OPDECK_NOTICE_ID=ntc_1\n", "OPDECK_NOTICE_KIND=cause\n", "HOME=/home/x\n",
		"OPDECK_NOTICE_SENTENCE=The service refuses connections.\n"} {
		if !strings.Contains(vars, want) {
			t.Errorf("no %q in %s", want, vars)
		}
	}
}

// TestCommandFails: the error has the end of what the program printed, safe to draw; a program that does not end is
// ended.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	run := func(ctx context.Context, argv ...string) string {
		err := Command{Argv: argv, Env: os.Environ()}.Send(ctx, notice)
		if err == nil {
			t.Errorf("%v did not fail", argv)
			return ""
		}
		return err.Error()
	}
	if got := run(t.Context(), "sh", "-c", `printf 'much\nno \033[31mroute\n' >&2; exit 3`); got !=
		"the command failed: exit status 3: no ·[31mroute" {
		t.Errorf("%q", got)
	}
	if got := run(t.Context(), "sh", "-c", `head -c 100000 /dev/zero | tr '\0' x; exit 1`); len(got) > 400 {
		t.Errorf("%d bytes", len(got))
	}
	if got := run(t.Context(), "/nowhere/at/all"); !strings.Contains(got, "the command failed") &&
		!strings.Contains(got, "cannot be started") {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := run(ctx, "sh", "-c", "sleep 60"); !strings.Contains(got, "did not end") {
		t.Errorf("%q", got)
	}
}

// TestWebhook: what is sent is signed as Standard Webhooks says; the ID is the notice's.
func TestWebhook(t *testing.T) {
	t.Parallel()
	key := "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	status := http.StatusNoContent
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := hmac.New(sha256.New, []byte("01234567890123456789012345678901"))
		fmt.Fprintf(h, "%s.%s.%s", r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), body)
		want := "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
		if got := r.Header.Get("Webhook-Signature"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if id := r.Header.Get("Webhook-Id"); id != "ntc_1" {
			t.Errorf("id %q", id)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		}
		w.WriteHeader(status)
	}))
	defer srv.Close()
	w := Webhook{URL: srv.URL + "/services/T0/SECRET", Client: NewClient(http.DefaultTransport), Now: time.Now,
		Secret: func() (secret.Value, error) { return secret.New(key), nil }}
	if err := w.Send(t.Context(), notice); err != nil {
		t.Error(err)
	}
	for _, code := range []int{500, 302, 404} {
		status = code
		if err := w.Send(t.Context(), notice); err == nil || !strings.Contains(err.Error(), "the receiver answered") {
			t.Errorf("%d: %v", code, err)
		}
	}
	srv.Close()
	err := w.Send(t.Context(), notice)
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
	w.Secret = func() (secret.Value, error) { return secret.Value{}, errors.New("no secret") }
	if err := w.Send(t.Context(), notice); err == nil || err.Error() != "no secret" {
		t.Errorf("%v", err)
	}
	w.Secret = func() (secret.Value, error) { return secret.New("short"), nil }
	if err := w.Send(t.Context(), notice); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
