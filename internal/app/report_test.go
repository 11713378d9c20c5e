package app

import (
	"archive/zip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/internal/domain/audit"
	"opdeck/internal/sandbox"
)

// reporting is the built-in service behind what other answers.
func reporting(t *testing.T, other func(w http.ResponseWriter, r *http.Request) bool) (*App, *service) {
	t.Helper()
	svc, err := sandbox.Open(t.Context(), sandbox.Options{Operations: 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	s := &service{next: svc.Handler(), other: other, calls: map[limit.Class]int{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	text := "[contexts.t]\nbase_url = \"" + srv.URL + "\"\nlogin = \"" + sandbox.DefaultLogin + "\"\npassword_env = \"PW\"\n[limits.per_minute]\nbilling = 1000\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: func(name string) string {
		return map[string]string{"PW": sandbox.DefaultPassword, "HOME": dir}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a, s
}

// TestReport: saved whole and private, with a record, by who may see what is in it.
func TestReport(t *testing.T) {
	a, s := reporting(t, nil)
	path := filepath.Join(t.TempDir(), "report.xlsx")
	for _, role := range []api.Role{"", api.Viewer, api.Operator, api.OnCall} {
		ctx := api.WithActor(t.Context(), api.Actor{Name: "p", Role: role, Via: "command"})
		if _, err := a.SaveReport(ctx, api.ReportQuery{}, path); api.AsError(err) == nil || api.AsError(err).Rule != api.RuleRole {
			t.Errorf("%q: %v", role, err)
		}
		if _, err := endpoint.Do(ctx, a.Client, endpoint.GetReport, endpoint.ReportTo{To: io.Discard}); api.AsError(err) == nil {
			t.Errorf("%q reads it past the record", role)
		}
	}
	if n := s.calls[limit.Billing]; n != 0 {
		t.Errorf("%d billing calls for those who may not", n)
	}
	ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Analyst, Via: "command"})
	got, err := a.SaveReport(ctx, api.ReportQuery{Page: 1, Size: 7}, path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != got.Bytes {
		t.Errorf("%v, %+v, %v", info, got, err)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("xl/worksheets/sheet1.xml")
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := io.ReadAll(f)
	if err != nil || strings.Count(string(sheet), "<row>") != 8 {
		t.Errorf("%v: %s", err, sheet)
	}
	found, err := a.Audit.Reader.Find(api.WithActor(t.Context(), api.Actor{Name: "root", Role: api.Admin}), audit.Query{Event: "export", Limit: 10})
	if err != nil || len(found.Entries) != 1 || found.Entries[0].Detail != "the service's report of operations, page 1, 7 a page" || found.Entries[0].Actor.Name != "ana" {
		t.Errorf("%+v %v", found.Entries, err)
	}
	before := s.calls[limit.Billing]
	if _, err := a.SaveReport(ctx, api.ReportQuery{}, path); !errors.Is(err, os.ErrExist) || s.calls[limit.Billing] != before {
		t.Errorf("written over, or asked for in vain: %v", err)
	}
	if again, _ := os.Stat(path); again.Size() != got.Bytes {
		t.Error("the file changed")
	}
}

// TestReportThatIsNone: what is no report, or not all of it, leaves no file.
func TestReportThatIsNone(t *testing.T) {
	answer := ""
	a, _ := reporting(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path != "/v2/report/operations":
			return false
		case answer == "breaks off":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"data":"UEsDBBQ`)
			return true
		case answer == "refuses":
			return say(w, 403, `{"error":"No reports for you"}`)
		}
		return say(w, 200, answer)
	})
	ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Analyst, Via: "command"})
	for text, want := range map[string]string{"breaks off": "", "refuses": "", "": "", "null": "no report", `{"name":"x"}`: "no report", `{"data":""}`: "no report",
		`{"data":{"rows":[]}}`: "no report", `{"data":"!!!"}`: "could not be understood", `{"data":"UEsDB"}`: "could not be understood", `{"error":"Not today"}`: "Not today"} {
		answer = text
		dir := t.TempDir()
		_, err := a.SaveReport(ctx, api.ReportQuery{}, filepath.Join(dir, "r.xlsx"))
		if e := api.AsError(err); e == nil || !strings.Contains(e.Public, want) {
			t.Errorf("%s: %v", text, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: left behind %v", text, left)
		}
	}
	answer = `{"item":{"data":"UEsDBA==","name":"a\u001b[2J.xlsx"}}`
	path := filepath.Join(t.TempDir(), "r.xlsx")
	got, err := a.SaveReport(ctx, api.ReportQuery{}, path)
	if b, _ := os.ReadFile(path); err != nil || string(b) != "PK\x03\x04" || strings.Contains(got.Name.Line(50), "\x1b") {
		t.Errorf("%q %+v %v", b, got, err)
	}
}
