package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

const (
	maxSecret      = 4096 // bytes
	commandTimeout = 10 * time.Second
	commandLeft    = time.Second // for programs that it started and that keep its output open
)

// Password reads the machine account's password from the context's source. It drops exactly one trailing line end;
// its errors never contain the password.
func (x Context) Password(ctx context.Context, env func(string) string) (secret.Value, error) {
	switch {
	case x.Sandbox:
		return secret.New("sandbox"), nil
	case x.PasswordEnv != "":
		v := env(x.PasswordEnv)
		if v == "" {
			return secret.Value{}, fmt.Errorf("the environment variable %s (password_env) is empty or not set", x.PasswordEnv)
		}
		return secret.New(v), nil
	case x.PasswordFile != "":
		return SecretFile(x.PasswordFile)
	case x.PasswordCommand != "":
		return secretCommand(ctx, "password_command", x.PasswordCommand)
	}
	return secret.Value{}, fmt.Errorf("the context %s has no password setting", x.Name)
}

// Passphrase reads the passphrase of backups from the file, the command or the environment variable; empty if none of
// them is set.
func (b Backup) Passphrase(ctx context.Context, env func(string) string) (secret.Value, error) {
	switch {
	case b.PassphraseFile != "":
		return SecretFile(b.PassphraseFile)
	case b.PassphraseCommand != "":
		return secretCommand(ctx, "passphrase_command", b.PassphraseCommand)
	case b.PassphraseEnv != "":
		return secret.New(env(b.PassphraseEnv)), nil
	}
	return secret.Value{}, nil
}

// SecretFile reads a secret from a regular file that only its owner can read.
func SecretFile(path string) (secret.Value, error) {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return secret.Value{}, fmt.Errorf("secret file %s: %s", path, reason(err))
	case !st.Mode().IsRegular():
		return secret.Value{}, fmt.Errorf("secret file %s: not a regular file", path)
	case st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/':
		return secret.Value{},
			fmt.Errorf("secret file %s: mode %04o lets others read it; chmod 600 %s", path, st.Mode().Perm(), path)
	case st.Size() > maxSecret:
		return secret.Value{}, fmt.Errorf("secret file %s: larger than %d bytes", path, maxSecret)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return secret.Value{}, fmt.Errorf("secret file %s: %s", path, reason(err))
	}
	return oneSecret(b, "secret file "+path)
}

func secretCommand(ctx context.Context, name, line string) (secret.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.WaitDelay = commandLeft
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{w: &out, left: maxSecret + 1}, &limited{w: &complaint, left: maxSecret}
	began := time.Now()
	err := cmd.Run()
	said := complaintOf(complaint.String(), out.String())
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return secret.Value{}, fmt.Errorf("%s did not end within %s%s", name,
			max(time.Since(began).Round(time.Second), time.Second), said)
	case err != nil:
		return secret.Value{}, fmt.Errorf("%s failed: %w%s", name, err, said)
	}
	v, err := oneSecret(out.Bytes(), name)
	if err != nil {
		return v, fmt.Errorf("%w%s", err, said)
	}
	return v, nil
}

// maxComplaint bounds what is quoted of a command's standard error, in characters.
const maxComplaint = 200

var longWord = regexp.MustCompile(`\S{40,}`)

// complaintOf quotes the first line of a command's standard error, safe to draw: without what the command printed as
// the password, whole or by line, and without anything like a token. It is "" if there is none.
func complaintOf(complaint, printed string) string {
	for _, line := range strings.Split(printed, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			complaint = strings.ReplaceAll(complaint, line, "…")
		}
	}
	for line := range strings.Lines(complaint) {
		if line = strings.TrimSpace(longWord.ReplaceAllString(line, "…")); line != "" {
			return `; it says: "` + untrusted.Text(line).Line(maxComplaint) + `"`
		}
	}
	return ""
}

func oneSecret(b []byte, what string) (secret.Value, error) {
	s := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	switch {
	case s == "":
		return secret.Value{}, fmt.Errorf("%s: empty", what)
	case len(s) > maxSecret:
		return secret.Value{}, fmt.Errorf("%s: longer than %d bytes", what, maxSecret)
	}
	return secret.New(s), nil
}

// limited discards everything beyond a limit.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
