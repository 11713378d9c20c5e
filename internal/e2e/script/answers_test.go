package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// answer is what a service that is written down by hand says to one call.
type answer struct {
	Status int               `json:"status"` // 0: 200
	Kind   string            `json:"kind"`   // of the content; "": application/json
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
	Text   string            `json:"text"` // instead of Body
}

// cmdAnswers is "answers FILE [SETTING…]": it starts a service that says what the
// file, an object of answers by method and path, reports it to, knows no other call,
// and writes each call to $WORK/calls. The config goes to $WORK/opdeck.toml with
// the settings under [service].
func cmdAnswers(ts *testscript.TestScript, _ bool, args []string) {
	says := map[string]answer{}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &says))
	calls, err := os.OpenFile(ts.MkAbs("calls"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	ts.Check(err)
	var mu sync.Mutex
	pair := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		call := r.Method + " " + r.URL.Path
		if call == "POST /v2/auth/login" {
			pair++
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"accessToken":"access-%d","refreshToken":"refresh-%d","accessTtl":300,"refreshTtl":900}`, pair, pair)
			return
		}
		asked := call
		for _, name := range []string{"clientCuid", "clientName", "account", "customerId"} {
			if v := r.URL.Query().Get(name); v != "" {
				asked += " " + name + "=" + v
			}
		}
		fmt.Fprintln(calls, asked)
		a, ok := says[asked]
		if !ok {
			a, ok = says[call]
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		if a.Kind == "" {
			a.Kind = "application/json"
		}
		w.Header().Set("Content-Type", a.Kind)
		for name, v := range a.Header {
			w.Header().Set(name, v)
		}
		if a.Status != 0 {
			w.WriteHeader(a.Status)
		}
		_, _ = w.Write(append([]byte(a.Text), a.Body...))
	}))
	ts.Defer(func() { srv.Close(); _ = calls.Close() })
	account := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = \"m\"\npassword_env = \"PW\"\n[service]\n%s", srv.URL, strings.Join(args[1:], "\n"))
	file := ts.MkAbs("opdeck.toml")
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, contexts, account), 0o600))
	ts.Setenv("OPDECK_CONFIG", file)
}
