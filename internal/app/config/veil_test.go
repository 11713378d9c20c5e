package config

import (
	"testing"
	"time"
)

// The console goes blank after a quarter of an hour unless the config says else.
func TestIdleVeil(t *testing.T) {
	for src, want := range map[string]time.Duration{
		"": 15 * time.Minute, "[ui]\nidle_veil = \"0\"\n": 0, "[ui]\nidle_veil = \"10s\"\n": 10 * time.Second, "[ui]\nidle_veil = \"8h\"\n": 8 * time.Hour,
	} {
		c, err := Parse("f", []byte(src))
		if err != nil || c.UI.IdleVeil.D() != want {
			t.Errorf("%q gives %s, %v", src, c.UI.IdleVeil.D(), err)
		}
	}
	for _, bad := range []string{"1s", "-1m", "25h", "soon", ""} {
		if _, err := Parse("f", []byte("[ui]\nidle_veil = \""+bad+"\"\n")); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
