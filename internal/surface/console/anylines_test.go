package console_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"opdeck/api"
	"opdeck/internal/surface/server/roletest"
)

// TestAnyLines answers plain mode at random: each line is answered by a prompt, what is
// said is text, nothing is sent that changes something while no one says yes, and quit
// leaves in the end.
//
// OPDECK_SEED is which lines (1); OPDECK_TEST_LONG=1 types 300.
func TestAnyLines(t *testing.T) {
	t.Chdir(t.TempDir())                                               // files are written
	if err := os.WriteFile("operations.csv", nil, 0o600); err != nil { // an export asks whether to write over it
		t.Fatal(err)
	}
	a := filled(t, "")
	var writes atomic.Int64
	a.OnCall(func(c api.Call) {
		if c.Write && c.Phase == api.CallEnded {
			writes.Add(1)
		}
	})
	r := rand.New(rand.NewPCG(uint64(roletest.Setting(t, "OPDECK_SEED", 1)), 2))
	id := string(newest(t, a, 0).OPID)
	said := strings.Fields("? help menu all more next previous first last back 1 2 3 4 5 6 7 8 9 12 99 -1 0 no n enter esc open documents history customer raw reveal remove restore attach upload replace " +
		"share link finalize application sort filter totals views chart export mark marked copy json events audit approvals limits session doctor customers accounts counterparties " +
		"approve refuse refresh login reset y, éé 漢 a b c d e f g i j k l m o p r s t u v w x z A B C E F H J K L M N P R S T U V W X [ ] | / : , . + * # % = <")
	said = append(said, "", " ", "open "+id, "open "+id[:6], "remove 1", "remove 3", "filter status:PENDING", "filter amount>>1", "filter off", "sort created", "views pending", "\x1b[2J", strings.Repeat("long ", 300), "menu 1", "ctx", "totals status")
	p, _ := startPlain(t, a, ana, nil)
	var last []string
	for range roletest.Many(150, 300) {
		line := said[r.IntN(len(said))]
		if last = append(last, line); len(last) > 30 {
			last = last[1:]
		}
		heard := p.say(line)
		if n := len(heard); n == 0 || !isPrompt(heard[n-1]) || writes.Load() > 0 {
			t.Errorf("after %q %d lines and %d writes:\n%s", last, len(heard), writes.Load(), strings.Join(heard, "\n"))
			t.Fatal(p.end())
		}
	}
	for range 30 {
		if heard := strings.Join(p.say("quit"), "\n"); strings.Contains(heard, "Goodbye.") {
			if err := p.end(); err != nil {
				t.Error(err)
			}
			return
		}
		p.say("no")
	}
	t.Errorf("quit does not leave after %q", last)
}
