//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

var update = flag.Bool("update", false, "write testdata/tasks.golden")

// task is something that a person wants, done on the built program with real keys.
type task struct {
	user, want string
	at         [2]int // width and height; zero: 80x24
	settings   string // of the console's context
	do         func(*hands)
	often      bool   // one of the ten most frequent
	held       string // instead of do: the test that does it, and why no keys are counted
}

// hands are a console, a person's keys, and the world behind it.
type hands struct {
	*terminal
	*world
	t      *testing.T
	log    string
	before taskTook // when the counting began
}

// taskTook is what a task took.
type taskTook struct{ keys, calls int }

// begins starts to count here: what came before was the way to where the task begins.
func (h *hands) begins() { h.before = taskTook{h.pressed, h.asked()} }

func (h *hands) took() taskTook {
	return taskTook{h.pressed - h.before.keys, h.asked() - h.before.calls}
}

var ofPerson = regexp.MustCompile(`(?m)msg=call .*background=false`)

// asked is how many calls were made for a person so far, once no more come.
func (h *hands) asked() int {
	for n := -1; ; time.Sleep(300 * time.Millisecond) {
		b, err := os.ReadFile(h.log)
		if err != nil {
			h.t.Fatal(err)
		}
		if now := len(ofPerson.FindAll(b, -1)); now == n {
			return n
		} else {
			n = now
		}
	}
}

// mostKeys is the most that one of the ten most frequent tasks may take.
const mostKeys = 6

// tries reports whether task i is done: the most frequent and a third of the others, all with OPDECK_TEST_LONG=1.
func (k task) tries(i int) bool { return k.do != nil && (k.often || i%3 == 0 || long() || *update) }

// TestTasks does what people do, and holds testdata/tasks.golden to it: exactly so many keys, and no call more. Each task
// begins at the list after the start, or at the screen that it names; a typed letter is a key, a pasted text is one; a
// call is a request for which a person waits. The most frequent, in bold, take at most mostKeys. On a busy machine the last call of a task may be late and is missed.
func TestTasks(t *testing.T) {
	t.Parallel()
	took := make([]taskTook, len(tasks))
	var mu sync.Mutex
	t.Run("tasks", func(t *testing.T) {
		for i, k := range tasks {
			if !k.tries(i) {
				continue
			}
			t.Run(fmt.Sprintf("%d", i+1), func(t *testing.T) {
				t.Parallel()
				// What is older than max_age is read again: no machine is to be so slow.
				w := newWorld(t, sandbox.Options{Operations: 120}, k.settings+"\n[index]\nmax_age = \"10m\"")
				size := k.at
				if size[0] == 0 {
					size = [2]int{80, 24}
				}
				h := &hands{world: w, t: t, log: filepath.Join(w.home, "log")}
				h.terminal = start(t, size[0], size[1], w.home, w.env, "--log-file", h.log).matches(`(?m)^ 120 operations  by`).shows("PENDING") // all of them are read
				h.begins()
				k.do(h)
				mu.Lock()
				defer mu.Unlock()
				took[i] = h.took()
				h.quit()
			})
		}
	})
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	const file = "testdata/tasks.golden"
	if *update {
		if err := os.WriteFile(file, []byte(taskTable(took)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	table, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said := make([]taskTook, len(tasks))
	for _, m := range lastNumbers.FindAllStringSubmatch(string(table), -1) {
		var n [3]int
		for i, digits := range m[1:] {
			n[i], _ = strconv.Atoi(digits)
		}
		if n[0] >= 1 && n[0] <= len(said) {
			said[n[0]-1] = taskTook{n[1], n[2]}
		}
	}
	for i, k := range tasks {
		if now, want := took[i], said[i]; k.tries(i) && (now.keys != want.keys || now.calls > want.calls) {
			t.Errorf("task %d, %s: %d keys and %d calls; testdata/tasks.golden says %d and %d", i+1, k.want, now.keys, now.calls, want.keys, want.calls)
		}
		if k.often && took[i].keys > mostKeys {
			t.Errorf("task %d, %s: %d keys for one of the most frequent", i+1, k.want, took[i].keys)
		}
		if words := taskWords(i); !strings.Contains(string(table), words) {
			t.Errorf("testdata/tasks.golden has no row %q; -update writes it", words)
		}
	}
}

// lastNumbers are a row's number, keys and calls.
var lastNumbers = regexp.MustCompile(`(?m)^\| (\d+) \|.* \| (\d+) \| (\d+) \|$`)

func taskTable(took []taskTook) string {
	var b strings.Builder
	b.WriteString("\n| # | Who | Wants | Keys | Calls |\n|---:|---|---|---:|---:|\n")
	for i, k := range tasks {
		now := fmt.Sprintf("%d | %d", took[i].keys, took[i].calls)
		if k.do == nil {
			now = k.held + " | "
		}
		b.WriteString(taskWords(i) + now + " |\n")
	}
	return b.String() + "\n"
}

// taskWords is a row of the table without what was counted.
func taskWords(i int) string {
	want := tasks[i].want
	if tasks[i].often {
		want = "**" + want + "**"
	}
	return fmt.Sprintf("| %d | %s | %s | ", i+1, tasks[i].user, want)
}
