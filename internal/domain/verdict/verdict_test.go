package verdict_test

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
)

var placeholder = regexp.MustCompile(`\{\w+\}`)

// TestSentences: whatever an incident shows has a sentence, evidence with its source, and a next step.
func TestSentences(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		for _, f := range verdict.Conclude(one.Facts).Findings {
			if !strings.HasSuffix(f.Sentence, ".") || placeholder.MatchString(f.Sentence) || len(f.Evidence) == 0 ||
				f.Evidence[0].From == "" || !strings.HasSuffix(f.Next.Do, ".") || !strings.Contains(f.Line(), strings.TrimSuffix(f.Next.Do, ".")) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// TestNothingIsConcludedFromNothing: without facts no cause applies, and no part is good.
func TestNothingIsConcludedFromNothing(t *testing.T) {
	for _, f := range []verdict.Facts{{}, {Now: verdicttest.Noon}} {
		v := verdict.Conclude(f)
		for _, p := range verdict.Parts() {
			if len(v.Findings) > 0 || v.Of(p) != verdict.Unknown || v.State() != verdict.Unknown {
				t.Errorf("%s is %s; %+v", p, v.Of(p), v.Findings)
			}
		}
	}
}

// TestLapsedFacts: when facts lapse, no part becomes good, and none that was good stays so once all have lapsed.
func TestLapsedFacts(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		f := one.Facts
		before := verdict.Conclude(f)
		for _, later := range []time.Duration{time.Minute, 9 * time.Minute, 10*time.Minute + time.Second, time.Hour} {
			f.Now = verdicttest.Noon.Add(later)
			after := verdict.Conclude(f)
			for _, p := range verdict.Parts() {
				if after.Of(p) == verdict.Good && before.Of(p) != verdict.Good {
					t.Errorf("%s, %s later: %s became good", name, later, p)
				}
				if later > 10*time.Minute && after.Of(p) != verdict.Unknown {
					t.Errorf("%s, %s later: %s is %s", name, later, p, after.Of(p))
				}
			}
		}
	}
}

// TestALapsedGoodAnswer: an old answer is no answer, also beside a newer failure that has lapsed.
func TestALapsedGoodAnswer(t *testing.T) {
	f := verdicttest.Call(reach.Fault{Class: reach.NoPort})
	f.Calls[1].Holds = time.Millisecond
	f.Calls[1].At = verdicttest.Noon.Add(-time.Minute)
	if v := verdict.Conclude(f); v.Of(verdict.PartService) == verdict.Good || len(v.Findings) > 0 {
		t.Errorf("the service is %s: %+v", v.Of(verdict.PartService), v.Findings)
	}
	old := verdicttest.Live()
	old.Calls[0].Value.Good = verdicttest.Noon.Add(-time.Hour) // the fact holds, the answer does not
	if v := verdict.Conclude(old); v.Of(verdict.PartService) != verdict.Unknown {
		t.Errorf("the service is %s", v.Of(verdict.PartService))
	}
}

// TestOrderOfFacts: the order in which facts come in changes nothing.
func TestOrderOfFacts(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		f := one.Facts
		f.Calls = append(f.Calls, verdicttest.Now(verdict.Call{Class: "account", Route: "GET /v2/accounts",
			Good:   verdicttest.Noon.Add(-3 * time.Minute),
			Failed: verdicttest.Noon.Add(-time.Second), Since: verdicttest.Noon.Add(-20 * time.Second),
			Fault: reach.Fault{Class: reach.Cut}}))
		want := verdict.Conclude(f)
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			g := f
			g.Calls = append([]verdict.Fact[verdict.Call]{}, f.Calls...)
			g.Attempts = append([]verdict.Fact[verdict.Attempt]{}, f.Attempts...)
			r.Shuffle(len(g.Calls), func(i, j int) { g.Calls[i], g.Calls[j] = g.Calls[j], g.Calls[i] })
			r.Shuffle(len(g.Attempts), func(i, j int) { g.Attempts[i], g.Attempts[j] = g.Attempts[j], g.Attempts[i] })
			if got := verdict.Conclude(g); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %+v\nwant %+v", name, got, want)
			}
		}
	}
}

// TestAnOutageThatIsOver: a call that failed in an outage and was not repeated since says nothing about now, once others
// that failed like it are answered; one that fails on is named.
func TestAnOutageThatIsOver(t *testing.T) {
	ago := func(s int) time.Time { return verdicttest.Noon.Add(-time.Duration(s) * time.Second) }
	outage := func(failed int) verdict.Facts {
		f := verdicttest.Live()
		f.Calls = []verdict.Fact[verdict.Call]{
			verdicttest.Now(verdict.Call{Class: "billing", Route: "GET /a", Good: ago(1), Failed: ago(40), Over: ago(30),
				Fault: reach.Fault{Class: reach.Failed}}),
			verdicttest.Now(verdict.Call{Class: "general", Route: "GET /b", Good: ago(100), Failed: ago(failed), Since: ago(35),
				Fault: reach.Fault{Class: reach.Failed}})}
		return f
	}
	if v := verdict.Conclude(outage(35)); len(v.Findings) > 0 || v.State() != verdict.Good {
		t.Errorf("%s: %+v", v.State(), v.Findings)
	}
	if said := verdict.Conclude(outage(10)).Headline(); !strings.HasPrefix(said, "Only general calls fail: ") {
		t.Error(said)
	}
	f := outage(10)
	f.Calls[0].Value.Over = time.Time{} // billing calls never failed
	f.Calls[1].Value.Fault.Class = reach.NoPort
	if v := verdict.Conclude(f); len(v.Findings) > 0 {
		t.Errorf("no connection, and yet an answer afterwards: %+v", v.Findings)
	}
}

// TestAWaitIsNoCause: attempts that found no slot take no cause's place, however many there are and whenever they
// were.
func TestAWaitIsNoCause(t *testing.T) {
	for _, class := range []reach.Class{reach.NoName, reach.NoPort, reach.Gateway, reach.Locked, reach.Password} {
		f := verdicttest.Login(reach.Fault{Class: class})
		want := verdict.Conclude(f).Headline()
		for i := range 20 {
			f.Attempts = append(f.Attempts, verdicttest.Now(verdict.Attempt{Kind: "login",
				At:    verdicttest.Noon.Add(-time.Duration(i) * time.Second),
				Waits: true}))
		}
		if got := verdict.Conclude(f).Headline(); got != want || got == verdict.Conclude(verdicttest.Base()).Headline() {
			t.Errorf("%s: %s, %s", class, got, want)
		}
	}
}

// TestItEnds: a success after the failure ends the finding.
func TestItEnds(t *testing.T) {
	f := verdicttest.Login(reach.Fault{Class: reach.NoPort})
	f.Attempts = append(f.Attempts, verdicttest.Now(verdict.Attempt{Kind: "login", At: verdicttest.Noon, OK: true}))
	if v := verdict.Conclude(f); len(v.Findings) > 0 {
		t.Errorf("%+v", v.Findings)
	}
	f = verdicttest.Call(reach.Fault{Class: reach.NoPort})
	f.Calls[1].Value.Good = verdicttest.Noon
	if v := verdict.Conclude(f); len(v.Findings) > 0 || v.State() != verdict.Good {
		t.Errorf("%s: %+v", v.State(), v.Findings)
	}
}

// TestAProxyThatIsNotUsed: it is no finding while calls succeed or nobody calls; if a missing proxy can be why calls
// fail, it is evidence, and the next step names it.
func TestAProxyThatIsNotUsed(t *testing.T) {
	unused := func(f verdict.Facts) verdict.Verdict {
		f.Config = verdicttest.Now(verdict.Config{Ignored: []string{"HTTPS_PROXY", "ALL_PROXY"}})
		return verdict.Conclude(f)
	}
	for _, f := range []verdict.Facts{verdicttest.Base(), verdicttest.Live()} {
		if v := unused(f); len(v.Findings) > 0 || v.Of(verdict.PartConfig) != verdict.Good {
			t.Errorf("%+v", v.Findings)
		}
	}
	for class, evidence := range map[reach.Class]bool{reach.NoConnect: true, reach.NoName: true, reach.Page: true,
		reach.Failed: false, reach.TLSExpired: false, reach.ProxyAsks: false} {
		v := unused(verdicttest.Login(reach.Fault{Class: class, Status: 500}))
		first, _ := v.First()
		shown := slices.ContainsFunc(first.Evidence, func(e verdict.Evidence) bool {
			return strings.HasPrefix(e.Text, "HTTPS_PROXY, ALL_PROXY ")
		})
		if len(v.Findings) != 1 || first.Cause != verdict.Cause(class) || shown != evidence ||
			strings.Contains(first.Next.Do, "HTTPS_PROXY") != evidence {
			t.Errorf("%s: %+v", class, v.Findings)
		}
	}
}

// TestOneRoute: a call that did not get through is over when another one of its class does; what the service answers to
// one route stays true of that route, and is said of no other.
func TestOneRoute(t *testing.T) {
	at := func(ago time.Duration) time.Time { return verdicttest.Noon.Add(-ago) }
	for class, want := range map[reach.Class]string{reach.Slow: "", reach.NoConnect: "", reach.Cut: "", reach.Gateway: "",
		reach.Failed: "Only GET /v2/operations fails: stage.example.com fails (500)."} {
		f := verdicttest.Call(reach.Fault{Class: class, Status: 500})
		f.Calls = append(f.Calls, verdicttest.Now(verdict.Call{Class: "billing", Route: "GET /v2/reports", Good: at(0)}))
		v := verdict.Conclude(f)
		if first, _ := v.First(); first.Sentence != want || (want == "") != (v.Of(verdict.PartService) == verdict.Good) {
			t.Errorf("%s: %q, service %s", class, first.Sentence, v.Of(verdict.PartService))
		}
		f.Calls[2].Value.Good = at(10 * time.Second) // before the newest failure
		if _, wrong := verdict.Conclude(f).First(); !wrong {
			t.Errorf("%s: a failure after the answer is not found", class)
		}
	}
}

// TestAnIndexThatNobodyReads: the lists are good only while somebody looks for new operations as often as the config
// promises.
func TestAnIndexThatNobodyReads(t *testing.T) {
	for ago, want := range map[time.Duration]verdict.State{30 * time.Second: verdict.Good, 4 * time.Minute: verdict.Good,
		6 * time.Minute: verdict.Unknown, 6 * time.Hour: verdict.Unknown} {
		f := verdicttest.Live()
		f.Index = verdicttest.Now(verdict.Index{Rows: 200, Whole: true, AsOf: verdicttest.Noon.Add(-ago), Says: "200 operations",
			Looked: verdicttest.Noon.Add(-ago), Every: time.Minute})
		v := verdict.Conclude(f)
		if v.Of(verdict.PartIndex) != want || want == verdict.Unknown != strings.Contains(v.Shows(verdict.PartIndex), "max_age") {
			t.Errorf("%s ago: %s, %s", ago, v.Of(verdict.PartIndex), v.Shows(verdict.PartIndex))
		}
	}
}

// TestRejectedDeliveriesEnd: once a delivery is accepted, and none was rejected for ten minutes, the setting is right.
func TestRejectedDeliveriesEnd(t *testing.T) {
	for _, c := range []struct {
		rejected, accepted time.Duration // before now
		found              bool
	}{{11 * time.Minute, time.Minute, false}, {11 * time.Minute, 12 * time.Minute, true}, {9 * time.Minute, time.Minute, true}} {
		f := verdicttest.Live()
		f.Feed = verdicttest.Now(verdict.Feed{Expected: true, Rejected: 3, Why: "signed with another secret",
			At: verdicttest.Noon.Add(-c.rejected), Last: verdicttest.Noon.Add(-c.accepted)})
		if found := len(verdict.Conclude(f).In(verdict.PartFeed)) > 0; found != c.found {
			t.Errorf("rejected %s ago, accepted %s ago: found %t", c.rejected, c.accepted, found)
		}
	}
}

// TestAnswersOfNoUse: the service is well when an answer could be used. That one call, one route or one unknown id gets
// no useful answer is no outage; that two calls do, and none since was of use, is one, until the next useful answer.
func TestAnswersOfNoUse(t *testing.T) {
	ago := func(s int) time.Time { return verdicttest.Noon.Add(-time.Duration(s) * time.Second) }
	row := func(class, route, shape string, status, good, failed, objects int) verdict.Fact[verdict.Call] {
		c := verdict.Call{Class: class, Route: route, Objects: objects}
		if good > 0 {
			c.Good = ago(good)
		}
		if failed > 0 {
			c.Failed, c.Since = ago(failed), ago(failed)
			c.Fault = reach.Fault{Class: reach.Useless, Status: status, Shape: shape}
		}
		return verdicttest.Now(c)
	}
	const list, one, users = "GET /v2/billing/operation", "GET /v2/billing/operation/{}", "GET /v2/user"
	type rows = []verdict.Fact[verdict.Call]
	for name, c := range map[string]struct {
		calls rows
		want  verdict.Cause
	}{
		"one route":          {rows{row("billing", list, "403", 403, 90, 5, 0)}, ""},
		"an unknown id":      {rows{row("billing", one, "404", 404, 90, 5, 1)}, ""},
		"ten unknown ids":    {rows{row("billing", one, "404", 404, 90, 5, 3)}, ""},
		"two features less":  {rows{row("general", users, "404", 404, 0, 5, 0), row("general", "GET /x", "404", 404, 0, 5, 0), row("billing", list, "", 0, 90, 0, 0)}, ""},
		"different reasons":  {rows{row("billing", list, "403", 403, 90, 5, 0), row("billing", one, "404", 404, 90, 4, 1)}, ""},
		"ended":              {rows{row("billing", list, "404", 404, 90, 5, 0), row("general", users, "404", 404, 90, 5, 0), row("account", "GET /a", "", 0, 1, 0, 0)}, ""},
		"two routes":         {rows{row("billing", list, "404", 404, 90, 5, 0), row("general", users, "404", 404, 0, 4, 0)}, "useless"},
		"a list and an id":   {rows{row("billing", list, "404", 404, 90, 5, 0), row("billing", one, "404", 404, 90, 4, 1)}, "useless"},
		"two objects":        {rows{row("billing", one, "200 with {}", 200, 90, 5, 2)}, "useless"},
		"never of use":       {rows{row("billing", list, "402", 402, 0, 5, 0), row("general", users, "402", 402, 0, 4, 0)}, "useless"},
		"one class":          {rows{row("billing", list, "404", 404, 90, 30, 0), row("billing", one, "404", 404, 90, 30, 1), row("general", users, "", 0, 40, 0, 0)}, "useless_class"},
		"one class, ended":   {rows{row("billing", list, "404", 404, 90, 30, 0), row("billing", one, "404", 404, 90, 30, 1), row("general", users, "", 0, 10, 0, 0)}, ""},
		"a route of another": {rows{row("billing", list, "404", 404, 90, 30, 0), row("general", users, "", 0, 10, 0, 0)}, ""},
	} {
		f := verdicttest.Base()
		f.Session = verdicttest.Live().Session
		f.Calls = c.calls
		first, _ := verdict.Conclude(f).First()
		if first.Cause != c.want {
			t.Errorf("%s: %q, not %q: %s", name, first.Cause, c.want, first.Sentence)
		}
	}
}
