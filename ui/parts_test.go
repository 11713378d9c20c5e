package ui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// TestStatusLineAlone: news wait for what is shown, weighty ones do not, and a key's answer
// takes the place of all.
func TestStatusLineAlone(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	w := &window{now: func() time.Time { return now }, shown: &display{}}
	s := &statusLine{win: w, stack: &screenStack{win: w}, activity: &activity{}, lock: &idleLock{}}
	s.toast(Toast{Level: Success, Text: "first"})
	s.toast(Toast{Level: Success, Text: "second"})
	if s.notice.text != "first" || len(s.waits) != 1 {
		t.Fatalf("%q is shown, %d wait", s.notice.text, len(s.waits))
	}
	s.toast(Toast{Level: Error, Text: "bad"})
	if s.notice.text != "bad" || len(s.waits) != 2 {
		t.Fatalf("%q is shown, %d wait", s.notice.text, len(s.waits))
	}
	now = now.Add(noticeLong)
	if s.expireNotice(now); s.notice.text != "second" {
		t.Errorf("%q follows", s.notice.text)
	}
	if s.hint(Info, "a key"); s.notice.text != "a key" {
		t.Errorf("a key's answer: %q", s.notice.text)
	}
}

// TestSentWritesAlone: what was sent is named until it has ended.
func TestSentWritesAlone(t *testing.T) {
	s := &sentWrites{writes: map[uint64]string{}}
	if cmd := s.track("nothing", nil); cmd != nil || len(s.waiting()) != 0 {
		t.Error("a write without a command is awaited")
	}
	s.track("remove b", func() tea.Msg { return nil })
	s.track("remove a", func() tea.Msg { return nil })
	if got := s.waiting(); len(got) != 2 || got[0] != "remove a" {
		t.Errorf("awaited: %q", got)
	}
}

// TestDialogStackAlone: questions are listed in their order, whatever lies between.
func TestDialogStackAlone(t *testing.T) {
	a, b, help := &question{}, &question{}, &pager{}
	s := &dialogStack{}
	s.push(a)
	s.push(help)
	s.push(b)
	s.remove(a)
	if got := s.questions(); len(got) != 1 || got[0] != b || len(s.overlays) != 2 {
		t.Errorf("%d questions of %d dialogs", len(got), len(s.overlays))
	}
}
