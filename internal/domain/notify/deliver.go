package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Command runs a program for each notice.
type Command struct {
	Argv []string
	Env  []string // without secrets
}

var _ Sender = Command{}

const (
	maxOutput = 4 << 10     // bytes kept of what a program prints
	outputEnd = time.Second // for programs that it started and that keep its output open
)

// Send implements Sender: the notice is JSON on standard input, parts of it are variables. The program fails
// unless it exits with 0; the error has the end of its output.
func (c Command) Send(ctx context.Context, n Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.WaitDelay = outputEnd
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	out := &tail{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = slices.Clone(c.Env)
	test := ""
	if n.Test {
		test = "1"
	}
	for _, v := range [][2]string{{"ID", n.ID}, {"KIND", string(n.Kind)}, {"CONTEXT", n.Context},
		{"SEVERITY", n.Severity}, {"SENTENCE", n.Sentence}, {"COMMAND", n.Command}, {"TEST", test}} {
		cmd.Env = append(cmd.Env, "OPDECK_NOTICE_"+v[0]+"="+v[1])
	}
	err = cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well; what it started keeps its output open
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the command did not end within %s%s", SendTimeout, out.said())
	}
	var start *exec.Error
	if errors.As(err, &start) {
		return fmt.Errorf("the command cannot be started: %w", start.Err)
	}
	return fmt.Errorf("the command failed: %w%s", err, out.said())
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-maxOutput):]
	return len(p), nil
}

// said is the last line, safe to draw, behind a colon; "" for none.
func (t *tail) said() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	if last := untrusted.Text(redact.Scrub(lines[len(lines)-1])).Line(200); last != "" {
		return ": " + last
	}
	return ""
}

// minSecret is the length of the shortest secret, in characters.
const minSecret = 32

// Webhook posts each notice to an address.
type Webhook struct {
	URL    string
	Secret func() (secret.Value, error) // read for each notice, so that it can be changed
	Client *http.Client                 // follows no redirect
	Now    func() time.Time
}

var _ Sender = Webhook{}

// NewClient returns the client of a Webhook.
func NewClient(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, Timeout: SendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Send implements Sender: the notice is the JSON of a POST, signed as Standard Webhooks (HMAC-SHA256 over
// id.time.body), with the notice's ID in every attempt. Any answer from 200 to 299 takes it.
func (w Webhook) Send(ctx context.Context, n Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	key, err := w.Secret()
	if err != nil {
		return err
	}
	signature, at := "", strconv.FormatInt(w.Now().Unix(), 10)
	if signature, err = sign(key, n.ID+"."+at+"."+string(body)); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "opdeck")
	req.Header.Set("Webhook-Id", n.ID)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", signature)
	res, err := w.Client.Do(req)
	if err != nil {
		var u *url.Error // its text has the address, which may hold a secret
		if errors.As(err, &u) {
			err = u.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.New("the receiver did not answer in time")
		}
		return fmt.Errorf("the receiver could not be reached: %w", err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %d", res.StatusCode)
	}
	return nil
}

// sign is the signature of a text as Standard Webhooks writes it. A secret behind "whsec_" is in base64.
func sign(key secret.Value, text string) (string, error) {
	raw := []byte(key.Reveal())
	if encoded, is := strings.CutPrefix(key.Reveal(), "whsec_"); is {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return "", errors.New("the secret cannot be used: behind whsec_ there must be base64")
		}
	}
	if len(key.Reveal()) < minSecret {
		return "", fmt.Errorf("the secret cannot be used: it needs at least %d characters", minSecret)
	}
	h := hmac.New(sha256.New, raw)
	_, _ = io.WriteString(h, text)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}
