package roletest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf16"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/app"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// Marks are members with values that no output may hold while they are masked, by what they are.
var Marks = map[string]string{
	"accountNumber": "40817810099910004312", "iban": "GB29NWBK60161331926819", "email": "mark.mail.0199@h.example",
	"phone": "+15550199123", "passportNumber": "P-5510-2207-XQ", "apiSecret": "sk-marked-5512-secret",
	"taxId": "TX-770-199-3321",
}

// Key is the key of the borrower of that name in a marked world's config.
func Key(name string) string { return "key-of-" + name + "-0123456789abcdefXYZ" }

// Marked is a world whose service puts Marks into every object that it returns, and the token of the request in many
// spellings.
type Marked struct {
	*World
	Form   atomic.Value // of answers: one of Forms, or "plain" for JSON without JSON in its texts
	Events []string     // keys of stored events with Marks
	Log    string       // the program's log file
	finder *secret.Finder
}

const tokenMark = "MARKED-TOKEN-6173"

// OpenMarked opens a marked world in an App of its own.
func OpenMarked(t testing.TB) *Marked {
	t.Helper()
	svc, err := faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 60},
		Style: faulty.Style{Marker: tokenMark, Opaque: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	m := &Marked{World: &World{}}
	m.Form.Store("")
	values := []secret.Value{secret.New(tokenMark)}
	for _, v := range Marks {
		v, _, _ = strings.Cut(v, "@") // the host of a mail address is shown
		values = append(values, secret.New(v))
	}
	m.finder = secret.Find(values...)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.answer(svc, w, r) }))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file, env := filepath.Join(dir, "config.toml"), map[string]string{"PW": sandbox.DefaultPassword, "HOME": dir}
	text := fmt.Sprintf("[contexts.box]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\n", srv.URL,
		sandbox.DefaultLogin)
	_, limits, _ := strings.Cut(Config, "[limits]")
	text += "[limits]" + limits
	for _, role := range api.Roles {
		env["KEY_"+string(role)] = Key(string(role))
		text += fmt.Sprintf("[lend.borrowers.%s]\nkey_env = \"KEY_%s\"\nrole = %q\n", role, role, role)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Log = filepath.Join(dir, "log")
	getenv := func(name string) string { return env[name] }
	a, err := app.Open(t.Context(), app.Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: getenv,
		Now: m.Now, LogFile: m.Log, Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	m.Use(t, a)
	m.store(t)
	return m
}

// Leaks names the first mark in an output, in whatever spelling; "": there is none.
func (m *Marked) Leaks(out string) string {
	b := []byte(out)
	if !m.finder.Hide(b) {
		return ""
	}
	at := bytes.IndexByte(b, '*')
	for at < len(out) && b[at] == out[at] { // an asterisk that was there
		at++
	}
	return out[max(0, at-40):min(len(out), at+60)]
}

// store puts events with marks into the inbox, in each form.
func (m *Marked) store(t testing.TB) {
	t.Helper()
	for i, form := range Forms {
		v := map[string]any{"hook_id": fmt.Sprintf("6f1c1f0e-8a4b-4c8e-9d4f-9%011d", i), "hook_type": 2,
			"Data": map[string]any{"Account": mark(map[string]any{"id": "acc-1", "number": Marks["accountNumber"]}, "", true)}}
		raw, _ := json.Marshal(v)
		s, ok := receivertest.Deliver(t, m.App.Hooks().Inbox(), inForm(form, raw))
		if !ok && form == "" {
			t.Fatal("the event was not accepted")
		}
		if ok {
			m.Events = append(m.Events, s.Key)
		}
	}
}

// Forms are the forms of an answer or a webhook.
var Forms = []string{"", "nested", "NDJSON", "BOM", "text", "HTML", "UTF-16"}

// inForm is a JSON document in another form.
func inForm(form string, raw []byte) []byte {
	switch form {
	case "nested":
		out, _ := json.Marshal(map[string]any{"payload": string(raw)})
		return out
	case "NDJSON":
		return append(append(append([]byte{}, raw...), '\n'), raw...)
	case "BOM":
		return append([]byte("\xef\xbb\xbf"), raw...)
	case "text":
		return []byte(strings.NewReplacer(`"`, "", ",", "\n", "{", "", "}", "").Replace(string(raw)))
	case "HTML":
		return []byte("<html><body><pre>" + html.EscapeString(string(raw)) + "</pre></body></html>")
	case "UTF-16":
		var b bytes.Buffer
		b.WriteString("\xff\xfe")
		for _, c := range utf16.Encode([]rune(string(raw))) {
			b.Write([]byte{byte(c), byte(c >> 8)})
		}
		return b.Bytes()
	}
	return raw
}

func (m *Marked) answer(svc *faulty.Service, w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	svc.Handler().ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	var v any
	if !strings.Contains(r.URL.Path, "/auth/") && json.Unmarshal(body, &v) == nil {
		if p := r.URL.Path; p == "/v2/account" || p == "/v2/counterparty" {
			v = few(v)
		}
		body, _ = json.Marshal(mark(v, token, m.Form.Load() != "plain"))
		body = []byte(strings.ReplaceAll(string(body), "ESCAPED", escaped(token)))
		body = inForm(m.Form.Load().(string), body)
		rec.Header().Set("Content-Language", token)
		rec.Header().Set("Deprecation", url.QueryEscape(token))
	}
	rec.Header().Del("Content-Length")
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}

// escaped is a text with each character as an escape of JSON.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

// few keeps the first rows of each list: each holds all marks, and a long answer shows nothing more.
func few(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = few(e)
		}
	case []any:
		return v[:min(len(v), 8)]
	}
	return v
}

// mark puts the marks and the token into every object in v; asText adds them as JSON inside a text.
func mark(v any, token string, asText bool) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = mark(e, token, asText)
		}
		more := map[string]any{}
		for name, value := range Marks {
			v[name], more[name+"2"] = value, value
		}
		inner, _ := json.Marshal(more)
		if v["deeper"] = []any{more}; asText {
			v["asText"] = string(inner)
		}
		if token != "" {
			v["seen"] = []any{token, "Bearer " + token, "ESCAPED", url.QueryEscape(token),
				base64.StdEncoding.EncodeToString([]byte("x" + token)),
				html.EscapeString(token)}
		}
		if _, is := v["comment"]; is {
			v["comment"] = "to " + Marks["iban"] + " by https://u:" + Marks["apiSecret"] + "@h.example/?access_token=" +
				Marks["apiSecret"]
		}
	case []any:
		for i := range v {
			v[i] = mark(v[i], token, asText)
		}
	}
	return v
}
