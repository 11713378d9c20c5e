package events

import (
	"strings"

	"opdeck/internal/domain/receiver"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Above implements list.Screen: what is shown, and why it may be less than there is.
func (s *Screen) Above() []string {
	w, h := s.Size()
	warnings := s.warnings(w, true)
	if s.Loaded && s.Err == nil && len(s.rows.All()) == 0 && s.Text == "" && s.cfg.Listen == "" && len(s.troubles(w, true)) == 0 {
		if h < explained {
			return []string{s.Verdict()}
		}
		return s.switchOn(w, h)
	}
	return append([]string{s.Head(s.following())}, warnings...)
}

// explained is the height from which on there is room to say how to receive webhooks.
const explained = 6

// Verdict answers whether events arrive: the first thing that is wrong with that, else
// how many there are. It names no keys: another screen shows it, too.
func (s *Screen) Verdict() string {
	th := s.env.Theme
	w, _ := s.Size()
	switch warnings := s.warnings(w, false); {
	case s.Err != nil:
		return th.Bad.Render(th.Signs.Bad + " " + s.Err.Public)
	case !s.Loaded:
		return th.Dim.Render("Reading the inbox …")
	case len(warnings) > 0:
		return warnings[0]
	case s.cfg.Listen == "":
		return th.Dim.Render(th.Signs.Off + " " + unreceived)
	}
	return s.following()
}

// unreceived says that no webhooks come to this host.
const unreceived = "No receiver is configured"

// following says how many events there are, and which of them need a look.
func (s *Screen) following() string {
	th := s.env.Theme
	head := th.Strong.Render(draw.Plural(s.rows.Len(), "event", "events"))
	if s.older != 0 {
		head += th.Dim.Render(", older ones above")
	}
	if s.follow {
		head += th.Good.Render("  " + th.Signs.Down + " following")
	} else {
		head += th.Dim.Render("  " + th.Signs.Off + " not following, " + s.keys.Follow.Help().Key + " does")
	}
	for _, x := range []struct {
		st   receiver.Status
		sign string
	}{{receiver.Quarantined, th.Signs.Locked}, {receiver.Conflict, th.Signs.Bad}} {
		if n := s.counts[x.st]; n > 0 {
			head += th.Bad.Render("  " + x.sign + " " + draw.Count(int(n)) + " " + string(x.st))
		}
	}
	return head
}

// unheard says that nothing is received here, and what to do: in a small window
// less of why.
func (s *Screen) unheard(w int) string {
	cure := s.keys.Settings.Help().Key + " shows where the service sends."
	return draw.Fitting(w, "No receiver runs here ([webhooks] listen is empty): these came by other processes or by hand. "+cure,
		"No receiver runs here: set [webhooks] listen. "+cure, "No receiver here. "+cure, "No receiver here; "+s.keys.Settings.Help().Key+" tells more.")
}

// warnings say why less may be shown than there is, and with keys which key helps.
func (s *Screen) warnings(w int, keys bool) []string {
	th := s.env.Theme
	var out []string
	warn := func(tone theme.Tone, l string) {
		out = append(out, th.Tone(tone).Render(draw.Cut(th.Signs.Warn+" "+l, w)))
	}
	if r := s.rhythm; r.Known {
		if r.Quiet = s.env.Now().Sub(r.Last); r.Quiet > r.Limit {
			r.Stalled = true
			cure, more := "", ""
			if keys {
				cure, more = " "+s.keys.Settings.Help().Key+" shows where the service sends.", " "+s.keys.Settings.Help().Key+" tells more."
			}
			warn(theme.Bad, draw.Fitting(w-2, "Feed may be stalled: "+r.String()+"; rows may be out of date."+cure, "Feed may be stalled: "+r.String()+"."+more,
				"Feed may be stalled."+more))
		}
	}
	if s.broken != nil {
		warn(theme.Warn, "The live feed stopped: "+line(s.broken.Public, 200)+" r starts it again.")
	}
	for _, l := range s.troubles(w, keys) {
		warn(theme.Warn, l)
	}
	out = append(out, s.NotReread()...)
	if s.cfg.Listen == "" && len(s.rows.All()) > 0 {
		out = append(out, th.Dim.Render(s.unheard(w)))
	}
	return out
}

// switchOn is the page that stands here while no receiver is configured and
// nothing has come by other ways.
func (s *Screen) switchOn(w, h int) []string {
	th := s.env.Theme
	out := []string{th.Title.Render(draw.Cut(unreceived, w)), ""}
	say := func(l string) {
		out = append(out, draw.Wrap(l, max(w, 1))...)
		out = append(out, "")
	}
	say("The service sends a webhook for each change. To receive them, add to the config:")
	for _, l := range strings.Split("[webhooks]\nlisten = \"127.0.0.1:8788\"  # where to listen\npath = \"/hooks\"\nverify = \"jwt\"             # how a delivery proves its origin\nsecret_env = \"OPDECK_HOOK_SECRET\"", "\n") {
		out = append(out, th.Accent.Render(draw.Cut("  "+l, w)))
	}
	out = append(out, "")
	say("and start again. Outside this host it needs TLS, or a proxy in front of it. opdeck event listen receives without the console.")
	say(s.keys.Settings.Help().Key + " shows where the service sends now, and changes it. " + s.env.Keys.Global.Reload.Help().Key + " looks whether events came by other processes.")
	return draw.Lay(out, w, h)
}
