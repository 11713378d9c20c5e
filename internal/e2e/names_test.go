//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
	"opdeck/internal/store/storetest"
	"opdeck/ui/paint/painttest"
)

// scripts are names of which terminals count the characters in different ways.
var scripts = []string{
	"ﾔﾏﾀﾞ ﾊﾟﾙ", "क्षितिज स्त्री", "서연 김", "\u1112\u1161\u11ab\u1100\u1173\u11af 무역", "নিপা চন্দ্র", "ਪੰਜਾਬੀ ਸਿੰਘ", "ગુજરાતી પટેલ",
	"நிலா செல்வி", "తెలుగు శ్రీ", "ಕನ್ನಡ ಕ್ಷೇತ್ರ", "മലയാളം ക്ഷമ", "กำธร น้ำผึ้ง", "ລາວ ຄຳ", "ខ្មែរ ស្រី", "မြန်မာ ကြည်", "བོད་སྐད བཀྲ",
	"مُحَمَّد النخيل", "שִׁירָה כהן", "ｶ)ｻﾞﾍﾞｽﾄ ｼﾞﾔﾊﾟﾝ", "か\u3099くや 太郎", "漢\u0301字 太郎", "👍🏽 Ltd 🇩🇪", "Nguye\u0302\u0303n Thi\u0323", "Дмитрий Соколов",
}

// renamed gives the customer of each operation one of the scripts.
func renamed(service http.Handler) http.Handler {
	given := map[string]string{}
	var rename func(v any, name string)
	rename = func(v any, name string) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				rename(one, name)
			}
		case map[string]any:
			if id, is := v["opid"].(string); is {
				if given[id] == "" {
					given[id] = scripts[len(given)%len(scripts)]
				}
				name = given[id]
			}
			if c, is := v["customer"].(map[string]any); is && name != "" {
				c["name"] = name
			}
			for _, one := range v {
				rename(one, name)
			}
		}
	}
	turn := make(chan struct{}, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		var v any
		numbers := json.NewDecoder(bytes.NewReader(body))
		numbers.UseNumber()
		if numbers.Decode(&v) == nil {
			turn <- struct{}{}
			rename(v, "")
			<-turn
			body, _ = json.Marshal(v)
		}
		for k, values := range answer.Header() {
			w.Header()[k] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	})
}

// namedWorld has operations of customers with such names.
func namedWorld(t *testing.T) *world {
	w := newWorld(t, sandbox.Options{Operations: len(scripts)}, "")
	server := httptest.NewServer(renamed(w.service.Handler()))
	t.Cleanup(server.Close)
	w.config(fmt.Sprintf("[contexts.stage]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\n[limits]\nper_minute = { login = 1000, "+
		"refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }\n", server.URL, sandbox.DefaultLogin))
	return w
}

// lettersOf is text without blanks: a terminal that takes fewer cells for a character than are kept shows some.
func lettersOf(text string) string { return strings.ReplaceAll(text, " ", "") }

// wantNames looks at the names in the list, then at the first in the header and the detail of its operation.
func wantNames(t *testing.T, screen func() string, open func()) {
	t.Helper()
	wait := func(what string, ok func(lines []string) bool) {
		t.Helper()
		for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if ok(strings.Split(lettersOf(painttest.Content(screen())), "\n")) {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%s is not shown:\n%s", what, screen())
			}
		}
	}
	for _, name := range scripts {
		wait(name+" in the list", func(lines []string) bool {
			for _, l := range lines {
				// date, sign and status, amount, and the name to its end
				if before, _, is := strings.Cut(l, lettersOf(name)); is && strings.HasPrefix(strings.TrimLeft(before, "▌!┬◇"), "20") {
					return true
				}
			}
			return false
		})
	}
	open()
	wait(scripts[0]+" in the header and the detail", func(lines []string) bool {
		return strings.Count(strings.Join(lines, "\n"), lettersOf(scripts[0])) >= 2
	})
}

func TestNamesOfManyScripts(t *testing.T) {
	t.Parallel()
	x := namedWorld(t).console(120, 40)
	wantNames(t, x.screen, func() { x.press(enter) })
	x.quit()
}

// TestNamesOfManyScriptsInTmux is the same in tmux, which counts code points.
func TestNamesOfManyScriptsInTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		storetest.Missing(t, "tmux", "tmux is not installed")
	}
	t.Parallel()
	w := namedWorld(t)
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(w.home, "tmux"), "-f", os.DevNull}, args...)...)
		cmd.Env = append([]string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "PW=sandbox"}, w.env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-x", "120", "-y", "40", binary)
	defer tmux("kill-server")
	wantNames(t, func() string { return tmux("capture-pane", "-p") }, func() { tmux("send-keys", "Enter") })
	tmux("send-keys", "y") // with tmux's own settings a copy is in its buffer once the notice says so
	for end := time.Now().Add(patience); !strings.Contains(tmux("capture-pane", "-p"), "Copied the id to tmux"); {
		if time.Now().After(end) {
			t.Fatal(tmux("capture-pane", "-p"))
		}
	}
	if id := tmux("show-buffer"); !strings.Contains(tmux("capture-pane", "-p"), id) {
		t.Errorf("the buffer has %q", id)
	}
}
