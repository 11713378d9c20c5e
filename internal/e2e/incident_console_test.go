//go:build linux

package e2e

import (
	"strings"
	"time"
	"unicode"
)

// consoleSays: the on-call page has the sentence; so has the error of a console that does not open. Its own calls
// change times and numbers, so only what comes before them is compared.
func (s *scene) consoleSays(said string) string {
	if !consoles() {
		return ""
	}
	said = clockTimes.Split(said, 2)[0]
	x := start(s.t, 250, 60, s.home, s.env)
	defer x.stop()
	screen, pressed := "", time.Time{}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if screen = x.screen(); strings.Contains(letters(screen), letters(said)) {
			return ""
		}
		select {
		case <-x.ended:
			time.Sleep(200 * time.Millisecond) // what it wrote last
			if screen = x.screen(); strings.Contains(letters(screen), letters(said)) {
				return ""
			}
			return screen
		default:
		}
		if time.Since(pressed) > 3*soon && strings.Contains(screen, "╭") {
			x.press("B")
			pressed = time.Now()
		}
	}
	return screen
}

// letters are the characters of a text that no frame or line end parts.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r >= '─' && r <= '╿' {
			return -1
		}
		return r
	}, text)
}
