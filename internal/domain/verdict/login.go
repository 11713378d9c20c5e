package verdict

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"opdeck/api/reach"
)

// loginRows are the refusals of a login. {said} is the service's own words.
func loginRows() []reachRow {
	const reset = " Then reset the session."
	return []reachRow{
		{reach.Locked, "The service has locked the machine account {account}.{said}",
			"Ask for the machine account to be unlocked." + reset,
			Provider},
		{reach.Disabled, "The service has disabled the machine account {account} or its login.{said}",
			"Ask for the login to be enabled." + reset, Provider},
		{reach.TwoFactor, "The service requires a two-factor code, which a machine account cannot give.{said}",
			"Switch two-factor authentication off for the machine account." + reset, Provider},
		{reach.Password, "The service refuses the login or password of {account}.{said}",
			"Correct the password in the config; opdeck then logs in by itself. To retry the same password, reset the " +
				"session.", Operator},
		{reach.Unclear, "The service refuses the login of {account}: password or two-factor code.{said}",
			"Check the password, and that two-factor authentication is off." + reset, Operator},
		{reach.NoRoute, "{s} has no login at this address (404).{said}", "Correct base_url.", Operator},
		{reach.Refused, "The service refuses the login of {account} ({status}).{said}",
			"Ask for the reason, and quote this message." + reset,
			Provider},
		{reach.Unreadable, "The answer to a {kind} ({status}) cannot be read{has}. {again}",
			"Check base_url, [service] proxy and the network for what changes the answers of the service; report it if " +
				"nothing does. Then log in.", Operator},
	}
}

func loginCauses() []cause {
	var out []cause
	for _, r := range loginRows() {
		out = append(out, cause{id: "login_" + Cause(r.class), part: PartSession, severity: Critical, who: r.who,
			explains: []Part{PartSession, PartIndex}, next: Next{Do: r.do, Command: loginCommand(r.class)},
			found: func(f Facts) []hit {
				for _, o := range outages(f) {
					if o.login && o.class == "" && o.fault.Class == r.class {
						says := strings.ReplaceAll(r.says, "{account}", f.Account)
						h := hit{says: o.sentence(f, says), since: o.since, evidence: o.shows}
						if key := o.fault.Key; key != "" {
							h.who = Admin
							h.next = Next{Do: "Set [service] " + key + " to the name of the member that has it. Then log in.",
								Command: loginCommand(r.class)}
						}
						return []hit{h}
					}
				}
				return nil
			}})
	}
	return append(out, throttledCause())
}

func loginCommand(c reach.Class) string {
	switch c {
	case reach.Unreadable:
		return "opdeck session login"
	case reach.NoRoute:
		return "opdeck doctor"
	}
	return "opdeck session reset"
}

// throttledCause is a 429 at a login or refresh, while nothing else is known to be wrong with it.
func throttledCause() cause {
	return cause{id: "login_throttled", part: PartSession, severity: Critical, who: Operator,
		explains: []Part{PartSession, PartIndex},
		next: Next{Do: "Wait; opdeck tries again by itself. Find other programs that log in as the machine account.",
			Command: "opdeck session status"},
		found: func(f Facts) []hit {
			if len(outages(f)) > 0 {
				return nil
			}
			var out []hit
			for _, one := range f.Attempts {
				a, known := one.at(f.Now)
				if !known || a.OK || a.Fault.Class != reach.Throttled || rotated(f, a.At) || usable(f) {
					continue
				}
				says := "The service refused a " + a.Kind + " (429: too many requests)."
				if a.Fault.After > 0 {
					says += " It asks to wait until " + clock(a.At.Add(a.Fault.After)) + "."
				}
				out = append(out, hit{says: says, since: a.At, evidence: []Evidence{one.evidence(attemptShows(a))}})
			}
			return out[:min(1, len(out))]
		}}
}

// Foreign is the cause of tokens that another client ended.
const Foreign Cause = "foreign"

// dated marks a cause whose sentence has the time of Since.
func dated(c cause) cause {
	c.dated = true
	return c
}

// usable reports whether calls have an access token.
func usable(f Facts) bool {
	s, known := f.Session.at(f.Now)
	return known && s.AccessUntil.After(f.Now)
}

func sessionCauses() []cause {
	session := func(f Facts) Fact[Session] { return f.Session }
	row := func(id Cause, sev Severity, who Who, next Next, says func(Facts, Session) (string, string, time.Time)) cause {
		return cause{id: id, part: PartSession, severity: sev, who: who, next: next, found: of(session, says)}
	}
	return []cause{
		dated(row(Foreign, Warning, Admin,
			Next{Do: "Find the other program: a second opdeck with its own store, or a script. A script can use " +
				"this session instead: opdeck session exec.",
				Command: "opdeck session status"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.Foreign == 0 {
					return "", "", time.Time{}
				}
				if s.EndsAfter > 0 {
					return "Access tokens end after about " + span(s.EndsAfter) + ", before they expire: another client logs in " +
							"that " +
							"often, or the service ends them early.", count(int64(s.Foreign), "token pair", "token pairs") +
							" revoked early, the last one at " +
							clock(s.ForeignAt), s.ForeignAt
				}
				often := "once in the last ten minutes (" + clock(s.ForeignAt) + ") and ended our session."
				if s.Foreign > 1 {
					often = fmt.Sprintf("%d times in the last ten minutes (last %s) and ended our session each time.", s.Foreign,
						clock(s.ForeignAt))
				}
				return "Another client logged in " + often, "the last time at " + clock(s.ForeignAt), s.ForeignAt
			})),
		row("unaccepted", Critical, Provider, Next{Do: "Ask whether the machine account has the permissions that it needs.",
			Command: "opdeck doctor"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.Unaccepted < 2 {
					return "", "", time.Time{}
				}
				return "The service refuses its own new tokens on every call.",
					count(int64(s.Unaccepted), "new token pair", "new token pairs") + " that no call accepted", time.Time{}
			}),
		row("short_life", Warning, Provider, Next{Do: "Ask for access tokens with a longer lifetime.",
			Command: "opdeck session status"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.ShortLife <= 0 {
					return "", "", time.Time{}
				}
				return fmt.Sprintf("The service's access tokens are valid for only %s; calls wait for new ones.",
						span(s.ShortLife)),
					"lifetime " + span(s.ShortLife), time.Time{}
			}),
		row("holder_stopped", Warning, Operator, Next{Do: "Nothing: another process takes over. Resume the stopped " +
			"process, or end it.",
			Command: "opdeck session status"}, func(_ Facts, s Session) (string, string, time.Time) {
			if s.Holder == "" {
				return "", "", time.Time{}
			}
			return "A " + cmp.Or(s.Holding, "refresh") + " by " + s.Holder + " does not end; calls wait for it.",
				"in progress since " + clock(s.HolderSince),
				s.HolderSince
		}),
		{id: "budget", part: PartBudget, severity: Warning, who: Operator,
			next: Next{Do: "Wait: calls are sent in turn. Slow down a script that uses most of the budget.",
				Command: "opdeck limits"}, found: budgets},
	}
}

func budgets(f Facts) []hit {
	var out []hit
	for _, one := range f.Budgets {
		b, known := one.at(f.Now)
		switch {
		case !known:
		case b.Asked && b.Until.After(f.Now):
			out = append(out, hit{since: b.AskedT, evidence: []Evidence{one.evidence(b.Class + ": 429 at " + clock(b.AskedT))},
				says: fmt.Sprintf("The service refused %s %s call (429). opdeck sends no %[2]s call before %[3]s.",
					article(b.Class),
					b.Class, clock(b.Until)),
				next: Next{Do: "Nothing to do: opdeck sends the waiting calls then.", Command: "opdeck limits"}})
		case b.Room <= 0 && b.Next.After(f.Now):
			out = append(out, hit{since: b.Full, evidence: []Evidence{one.evidence(b.Class + ": no call before " +
				clock(b.Next))},
				says: "The budget of " + b.Class + " calls is used up until " + clock(b.Next) + "." + users(b)})
		}
	}
	return out
}

func users(b Budget) string {
	if len(b.Users) == 0 {
		return ""
	}
	return " " + strings.Join(b.Users, ", ") + "."
}

// article is the indefinite article of a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an"
	}
	return "a"
}
