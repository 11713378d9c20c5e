package console

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestAnyKeys presses keys at random on the whole console, in windows of any size: each
// frame fits its window, nothing is sent that changes something without a Yes to a question
// that was seen, no one is put out, and esc leads home.
//
// OPDECK_SEED is which keys (1); OPDECK_TEST_LONG=1 presses 600.
func TestAnyKeys(t *testing.T) {
	t.Chdir(t.TempDir()) // files are written
	seed := roletest.Setting(t, "OPDECK_SEED", 1)
	_, a := roletest.Open(t)
	w := walk(t, a, uint64(seed))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, the last keys: %q\n%s", seed, w.pressed[max(len(w.pressed)-40, 0):], ansi.Strip(w.run.View()))
		}
	}()
	writes := 0
	a.OnCall(func(c api.Call) {
		if c.Write && c.Phase == api.CallEnded {
			writes++
		}
	})
	for range roletest.Many(250, 600) {
		before := ansi.Strip(w.run.View())
		if w.step(); writes > 0 || w.run.Quit {
			t.Fatalf("%d writes, left: %v\nbefore:\n%s", writes, w.run.Quit, before)
		}
	}
	w.run.Send(uitest.Size(80, 24))
	for range 40 {
		key := "esc"
		if strings.Contains(w.run.View(), "Discard the ") {
			key = "y"
		}
		w.run.Send(w.clock.Wait(time.Second), uitest.Key(key))
	}
	w.run.Send(uitest.Key("1"), w.clock.Wait(time.Second))
	if got := ansi.Strip(w.run.View()); !strings.Contains(got, ".. Operations .") {
		t.Error("esc does not lead home")
	}
}

// walker presses keys at random.
type walker struct {
	r       *rand.Rand
	run     *uitest.Run
	clock   *uitest.Clock
	pressed []string
}

func walk(t *testing.T, a *app.App, seed uint64) *walker {
	t.Helper()
	who := roletest.Known(api.Actor{Name: "ana", Role: api.Admin, Via: "console", From: "here"})
	ctx, cancel := context.WithCancel(api.WithTrail(mask.ByCaller(api.WithActor(t.Context(), who)), a.Audit))
	f := newFeed(ctx, a, newPeople(a, who), nil)
	t.Cleanup(func() { cancel(); f.close() })
	w := &walker{r: rand.New(rand.NewPCG(seed, 1)), clock: uitest.NewClock()}
	opt := shellOptions(ctx, a, who, Options{Getenv: func(string) string { return "" }}, f, nil)
	opt.Feeds, opt.Start, opt.Now, opt.Tick = nil, ui.Place{Kind: ui.KindOperations}, w.clock.Now, w.clock.Tick
	w.run = uitest.Drive(t, seat{ui.New(opt), 300 * time.Millisecond}, uitest.Size(80, 24))
	return w
}

// What is pressed and typed. The keys of choosing may mark or say Yes: they are not pressed
// while a question is seen.
var (
	harmless = strings.Fields("enter enter esc esc pgup pgdown home end backspace ctrl+u ctrl+r ctrl+n ctrl+p ! ? / : [ ] | , . + - * # % = < > ( " +
		"1 2 3 4 5 6 7 8 9 0 a b c d e f g i j k m n o p q r s t u v w x z A B C D E F G H I J K L M N O P Q R S T U V W X Z")
	choosing = strings.Fields("up down y Y h l tab shift+tab left right space")
	phrases  = []string{"pend", "status:PENDING", "amount>5", "customers", "approvals", "quit", "totals", "on call", "ctx", "limits", "é漢字", "x\x1b[2J", "-1", strings.Repeat("long ", 60)}
	waits    = []time.Duration{20 * time.Millisecond, 300 * time.Millisecond, time.Second, time.Minute}
	windows  = [][2]int{{80, 24}, {160, 45}, {40, 12}, {120, 40}, {20, 5}, {1, 1}, {200, 60}}
)

// step does one thing.
func (w *walker) step() {
	n := w.r.IntN(100)
	switch {
	case n < 2:
		s := oneOf(w, windows)
		w.pressed = append(w.pressed, fmt.Sprint("size ", s))
		w.run.Send(uitest.Size(s[0], s[1]))
	case n < 8:
		d := oneOf(w, waits)
		w.pressed = append(w.pressed, "wait "+d.String())
		w.run.Send(w.clock.Wait(d))
	case n < 10:
		w.pressed = append(w.pressed, "paste")
		w.run.Send(uitest.Paste("y\ryes\r\n"))
	case n < 12:
		w.pressed = append(w.pressed, "burst")
		w.run.Send(uitest.Burst("yyy"))
	case n < 15:
		s := oneOf(w, phrases)
		w.pressed = append(w.pressed, "type "+s)
		w.run.Send(uitest.Type(s))
	default:
		keys := harmless
		if frame := ansi.Strip(w.run.View()); !strings.Contains(frame, "y yes") && !strings.Contains(frame, "[ No ]") {
			keys = append(keys[:len(keys):len(keys)], choosing...)
		}
		k := oneOf(w, keys)
		w.pressed = append(w.pressed, k)
		w.run.Send(uitest.Key(k))
	}
}

func oneOf[T any](w *walker, of []T) T { return of[w.r.IntN(len(of))] }
