package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/api/reach"
)

// outage is what keeps calls from useful answers now: of all calls, or of one class.
type outage struct {
	fault reach.Fault
	since time.Time
	at    time.Time
	next  time.Time // of a login or refresh
	class string    // "billing calls fail"; "": all calls
	login bool      // seen at a login or refresh
	kind  string    // which of them
	shows []Evidence
}

// outages returns the outages that the facts show. A class fails alone if another class was answered since its first
// failure, and a route if another one of its class was; otherwise the newest failure concerns all calls.
func outages(f Facts) []outage {
	var failing []Fact[Call]
	var good, connected time.Time // the newest good answer, and that with those to requests without a login
	for _, one := range f.Calls {
		c, known := one.at(f.Now)
		switch {
		case !known:
			continue
		case c.failing() && c.Fault.Class != reach.Throttled && !c.alone():
			failing = append(failing, one)
		}
		if c.Good.After(good) && !c.probe() {
			good = c.Good
		}
		if c.Good.After(connected) {
			connected = c.Good
		}
	}
	var whole *outage
	var out []outage
	for _, one := range failing {
		c := one.Value
		if passed(f, c, good, connected) {
			continue
		}
		o := outage{fault: c.Fault, since: since(c), at: c.Failed, shows: []Evidence{one.evidence(callShows(c))}}
		if good.After(o.since) && !good.Equal(c.Good) {
			if o.class = c.Class + " calls fail"; answered(f, c.Class).After(o.since) {
				o.class = c.Route + " fails"
			}
			out = append(out, o)
			continue
		}
		whole = whole.with(o)
	}
	for _, one := range f.Attempts {
		a, known := one.at(f.Now)
		if !known || a.OK || a.Waits || a.Fault.Class == reach.None || outlived(f, a, good, connected) || rotated(f, a.At) ||
			step(f, a) || a.Fault.Class == reach.Throttled || a.Fault.Class == reach.NoPassword {
			continue
		}
		whole = whole.with(outage{fault: a.Fault, since: a.At, at: a.At, next: a.Next, login: true, kind: a.Kind,
			shows: []Evidence{one.evidence(attemptShows(a))}})
	}
	for _, o := range useless(f) {
		if o.class == "" {
			whole = whole.with(o)
			continue
		}
		out = append(out, o)
	}
	if whole != nil {
		out = append(out, *whole)
	}
	return out
}

// useless returns the outages in which the service answers and no answer is of use: of all calls, else of classes. What
// failed in one class alone, while another's useful answer still holds, is an outage of that class.
func useless(f Facts) []outage {
	var newest time.Time
	held := map[string]bool{} // classes with a useful answer that still holds
	for _, one := range f.Calls {
		if c := one.Value; !c.Good.IsZero() && !c.probe() {
			held[c.Class] = held[c.Class] || f.Now.Sub(c.Good) <= one.Holds
			if c.Good.After(newest) {
				newest = c.Good
			}
		}
	}
	whole, failed, is := uselessSince(f, "")
	for class := range held {
		if is && len(failed) == 1 && held[class] && !failed[class] {
			is = false
		}
	}
	if is {
		return []outage{whole}
	}
	var out []outage
	tried := map[string]bool{}
	for _, one := range f.Calls {
		class := one.Value.Class
		if tried[class] {
			continue
		}
		tried[class] = true
		if o, _, is := uselessSince(f, class); is && o.at.After(newest) {
			o.class = class + " calls fail"
			out = append(out, o)
		}
	}
	return out
}

// uselessSince is the outage of the calls of a class ("": of all) since its last useful answer. Two calls must have
// failed in the same way, on two routes or about two objects, and one of them in a way that is not about its own object
// or its own route: on a route that was of use before, or while none ever was. classes are those of the calls.
func uselessSince(f Facts, class string) (o outage, classes map[string]bool, is bool) {
	type evidence struct {
		calls        int
		plain, known bool
	}
	var good time.Time
	var rows []Fact[Call]
	for _, one := range f.Calls {
		if c := one.Value; (class == "" || c.Class == class) && !c.probe() {
			rows = append(rows, one)
			if c.Good.After(good) {
				good = c.Good
			}
		}
	}
	alike := map[string]evidence{} // by what came
	failed := func(c Call) bool { return c.failing() && c.alone() && c.Failed.After(good) }
	for _, one := range rows {
		if c := one.Value; failed(c) {
			e := alike[c.Fault.Shape]
			e.calls += max(1, c.Objects)
			ofObject := c.Objects > 0 && c.Fault.OfObject()
			e.plain = e.plain || !ofObject && (!c.Good.IsZero() || good.IsZero() && class == "")
			_, known := one.at(f.Now)
			e.known = e.known || known
			alike[c.Fault.Shape] = e
		}
	}
	var joined *outage
	classes = map[string]bool{}
	for _, one := range rows {
		c := one.Value
		if e := alike[c.Fault.Shape]; failed(c) && e.calls > 1 && e.plain && e.known {
			began := since(c)
			if began.Before(good) { // it failed before, too, while others were of use
				began = good
			}
			classes[c.Class] = true
			joined = joined.with(outage{fault: c.Fault, since: began, at: c.Failed,
				shows: []Evidence{one.evidence(callShows(c))}})
		}
	}
	if joined == nil {
		return o, nil, false
	}
	return *joined, classes, true
}

// answered is the newest answer to a call of a class; zero: none.
func answered(f Facts, class string) (good time.Time) {
	for _, one := range f.Calls {
		if c, known := one.at(f.Now); known && c.Class == class && c.Good.After(good) {
			good = c.Good
		}
	}
	return good
}

// passed reports whether a failing call was kept from the service by what no longer does: a later call of its class got
// an answer, or any call or login if the fault is one of every connection, or others that failed like it are answered
// again. What the service itself answers to one route, an answer to another does not end.
func passed(f Facts, c Call, good, connected time.Time) bool {
	switch {
	case c.probe() && good.After(c.Failed), !c.Fault.Answered() && answered(f, c.Class).After(c.Failed),
		c.Fault.Class.Connecting() && (connected.After(c.Failed) || rotated(f, c.Failed)):
		return true
	}
	return slices.ContainsFunc(f.Calls, func(one Fact[Call]) bool {
		d, known := one.at(f.Now)
		return known && d.Over.After(c.Failed) && d.Fault.Class == c.Fault.Class
	})
}

// outlived reports whether calls that were answered show that the fault of an attempt is over. They say nothing about a
// refused login, and without a valid token an answer is a refusal, which says only that there is a connection.
func outlived(f Facts, a Attempt, good, connected time.Time) bool {
	return !a.Fault.Answered() && (good.After(a.At) && usable(f) || connected.After(a.At) && a.Fault.Class.Connecting())
}

// loginFollows is how long after a refresh that failed the login is expected to have ended.
const loginFollows = 20 * time.Second

// step reports whether a failed refresh shows nothing yet: a login follows it, and its result is that of both. What the
// service answers to a refresh alone is never why no session can be had.
func step(f Facts, a Attempt) bool {
	if a.Kind != "refresh" || !a.Fault.Answered() {
		return false
	}
	switch a.Fault.Class {
	case reach.Failed, reach.Gone:
	default:
		return true
	}
	tries := 0
	for _, one := range f.Attempts {
		if b := one.Value; !b.OK && !b.Waits && !rotated(f, b.At) {
			tries++
		}
	}
	return tries == 1 && a.Fault.After == 0 && f.Now.Sub(a.At) < loginFollows
}

// with joins two outages of all calls: the newest fault counts, the oldest time is its beginning.
func (o *outage) with(other outage) *outage {
	if o == nil {
		return &other
	}
	joined, older := other, *o
	if o.at.After(other.at) || o.at.Equal(other.at) && o.fault.Class > other.fault.Class {
		joined, older = *o, other
	}
	if older.since.Before(joined.since) {
		joined.since = older.since
	}
	if joined.next.IsZero() {
		joined.next = older.next
	}
	joined.shows = append(append([]Evidence{}, o.shows...), other.shows...)
	return &joined
}

func since(c Call) time.Time {
	if c.Since.IsZero() {
		return c.Failed
	}
	return c.Since
}

// rotated reports whether a login or refresh succeeded after that time.
func rotated(f Facts, after time.Time) bool {
	for _, one := range f.Attempts {
		if a, known := one.at(f.Now); known && a.OK && a.At.After(after) {
			return true
		}
	}
	return false
}

// reached reports whether the newest answer of the service still holds and no failure of all calls followed it. A
// lapsed failure counts as well: it must not turn an older answer into a good one.
func reached(f Facts) bool {
	var good, connected time.Time
	var class string
	useful := true // no call has failed
	for _, one := range f.Calls {
		c := one.Value
		age := f.Now.Sub(c.Good)
		if age > one.Holds || age < -ahead {
			useful = useful && !(c.failing() && c.Fault.Answered())
			continue
		}
		if c.Good.After(connected) {
			connected = c.Good
		}
		if c.Good.After(good) && !c.probe() {
			good, class = c.Good, c.Class
		}
	}
	if good.IsZero() && useful { // nothing has been called: there is a connection
		good = connected
	}
	whole := func(o outage) bool { return o.class == "" }
	if good.IsZero() || slices.ContainsFunc(useless(f), whole) {
		return false
	}
	for _, one := range f.Calls {
		if c := one.Value; c.failing() && !c.alone() && (c.Class == class || !good.After(since(c))) &&
			c.Fault.Class != reach.Throttled && !passed(f, c, good, connected) {
			return false
		}
	}
	for _, one := range f.Attempts {
		if a := one.Value; !a.OK && !a.Waits && !a.Fault.Answered() && !outlived(f, a, good, connected) && !rotated(f, a.At) {
			return false
		}
	}
	return true
}

func callShows(c Call) string {
	return fmt.Sprintf("%s failed at %s: %v", c.Route, clock(c.Failed), c.Fault)
}

func attemptShows(a Attempt) string {
	return fmt.Sprintf("%s at %s: %v", a.Kind, clock(a.At), a.Fault)
}

// reachRow is a row about a class of faults: {s} is the service's host.
type reachRow struct {
	class reach.Class
	says  string
	do    string
	who   Who
}

func reachRows() []reachRow {
	return []reachRow{
		{reach.NoName, "The name {s} cannot be looked up.", "Check base_url and the name servers of this host.", Operator},
		{reach.NoPort, "{s} refuses connections.", "Check base_url and the firewall. If both are right, report it.",
			Provider},
		{reach.NoConnect, "No connection to {s}: nothing answers.", "Check the network and the firewall of this host.",
			Operator},
		{reach.TLSExpired, "The certificate of {s} expired{until}.", "Ask for a new certificate.", Provider},
		{reach.TLSEarly, "The certificate of {s} is not valid before {until}.",
			"Check the clock of this host. If it is right, " +
				"report it.", Operator},
		{reach.TLSName, "The certificate of {s} is for another name{names}.", "Check base_url.", Operator},
		{reach.TLSIssuer, "The certificate of {s} is from an authority that is not known here.",
			"Set ca_file of the context to its authority.", Operator},
		{reach.TLSBad, "The certificate of {s} is not valid.", "Ask for a valid certificate.", Provider},
		{reach.TLSVersion, "{s} does not offer TLS 1.2 or newer.", "Ask for TLS 1.2 or newer.", Provider},
		{reach.NoTLS, "{s} speaks no TLS on the port that base_url uses.", "Correct the port in base_url.", Operator},
		{reach.PlainHTTP, "{s} answers with plain HTTP on the port that base_url uses for https.",
			"Correct the port in base_url.", Operator},
		{reach.HTTPToTLS, "{s} expects TLS on the port that base_url uses for plain http.", "Write https:// in base_url.",
			Operator},
		{reach.ProxyFault, "The proxy {target} cannot be reached.", "Correct [service] proxy, or start the proxy.", Operator},
		{reach.ProxyAsks, "The proxy requires a login (407).", "Set user and password in [service] proxy.", Operator},
		{reach.Maintenance, "{s} is under maintenance or overloaded (503).{said}",
			"Wait; opdeck tries again by itself.",
			Provider},
		{reach.Gateway, "A gateway in front of {s} gets no answer from the service ({status}).{said}",
			"opdeck tries again by itself. Report it if it persists.", Provider},
		{reach.Failed, "{s} fails ({status}).{said}", "opdeck tries again by itself. Report it if it persists.", Provider},
		{reach.Gone, "{s} no longer offers this version of its interface (410).{said}",
			"Install a version of opdeck for the new interface, or correct base_url.", Admin},
		{reach.Moved, "{s} redirects calls to {target}, and opdeck follows no redirects.", "Check base_url; log in to the " +
			"network if the address is a login page.", Operator},
		{reach.Page, "A web page arrives instead of an answer from {s}: a login page of this network, or another server.",
			"Log in to the network of this host, or correct base_url.", Operator},
		{reach.Useless, "No answer of {s} can be used: {shape}.{said}", "Check base_url. If it is right, ask the service's " +
			"support, and quote this message.", Operator},
		{reach.Garbage, "The answers of {s} are not JSON.", "Check base_url. If it is right, report it.", Provider},
		{reach.Coded, "{s} answers in an encoding that opdeck does not read{has}.",
			"Ask for answers without an encoding, or in gzip.", Provider},
		{reach.TooLong, "The answers of {s} are longer than any answer to a login.",
			"Check base_url. If it is right, report it.", Operator},
		{reach.Slow, "{s} accepts connections but does not answer in time.", "Report it if it persists.", Provider},
		{reach.Cut, "{s} closes connections before its answer is complete.", "Report it if it persists.", Provider},
		{reach.NotAnswered, "Calls to {s} fail, and the reason is not known.", "Check each step of the connection.",
			Operator},
	}
}

// Says words the fault of one call to a service as its findings do; "" for a fault without such a finding, such as a
// refusal for the rate.
func Says(service string, fault reach.Fault) string {
	for _, r := range reachRows() {
		if r.class == fault.Class && fault.Class != reach.Useless { // of one call it shows nothing about the service
			return outage{fault: fault}.sentence(Facts{Service: service}, r.says)
		}
	}
	return ""
}

func reachCauses() []cause {
	var out []cause
	for _, r := range reachRows() {
		for _, whole := range []bool{true, false} {
			c := cause{id: Cause(r.class), part: PartService, severity: Critical, who: r.who,
				next: Next{Do: r.do, Command: "opdeck doctor"}, explains: []Part{PartSession, PartIndex, PartService}}
			if !whole {
				c.id, c.severity, c.explains = c.id+"_class", Warning, []Part{PartIndex}
			}
			c.found = func(f Facts) []hit {
				var out []hit
				for _, o := range outages(f) {
					if o.fault.Class == r.class && (o.class == "") == whole {
						out = append(out, r.unproxied(f, hit{says: o.sentence(f, r.says), since: o.since, evidence: o.shows,
							try: o.retried(f)}))
					}
				}
				return out
			}
			out = append(out, c)
		}
	}
	return append(out, certificateCauses()...)
}

// unproxied adds to an outage that a missing proxy can cause which proxies of the environment have no effect.
func (r reachRow) unproxied(f Facts, h hit) hit {
	c, known := f.Config.at(f.Now)
	switch r.class {
	case reach.NoName, reach.NoPort, reach.NoConnect, reach.Slow, reach.Cut, reach.NotAnswered, reach.Page, reach.Moved:
	default:
		known = false
	}
	if !known || len(c.Ignored) == 0 {
		return h
	}
	names := strings.Join(c.Ignored, ", ")
	h.evidence = append(slices.Clone(h.evidence), f.Config.evidence(names+" of the environment is set and has no effect"))
	h.next = Next{Do: "If calls must leave through the proxy of " + names + ", set [service] proxy. Otherwise: " + r.do,
		Command: "opdeck doctor"}
	return h
}

func (o outage) sentence(f Facts, says string) string {
	until, names, has := "", "", ""
	if t := o.fault.Until; !t.IsZero() {
		until = day(t)
		if o.fault.Class == reach.TLSExpired {
			until = " on " + until
		}
	}
	if o.fault.Names != "" {
		names = " (" + o.fault.Names + ")"
	}
	said := quoted(o.fault.Said)
	if o.fault.Instead() && o.fault.Said != "" {
		said, has = "", ": "+o.fault.Said
	}
	text := strings.NewReplacer("{s}", f.Service, "{until}", until, "{names}", names, "{target}", o.fault.Target,
		"{has}", has, "{kind}", o.kind, "{again}", o.again(f.Now), "{status}", fmt.Sprint(o.fault.Status),
		"{shape}", o.fault.Shape, "{said}",
		said).Replace(says) + o.asks(f.Now)
	if o.class != "" {
		text = "Only " + o.class + ": " + text
	}
	return text
}

// retried is when what failed is tried again: a login or refresh after its back-off, a call when the next one is made.
func (o outage) retried(f Facts) time.Time {
	switch {
	case !o.next.IsZero():
		return o.next
	case o.login:
		return retried(f)
	}
	return time.Time{}
}

// again says when the login is repeated whose answer could not be read.
func (o outage) again(now time.Time) string {
	switch {
	case o.kind == "refresh":
		return "The next call logs in."
	case o.next.After(now):
		return "The login may have succeeded, so opdeck does not repeat it before " + clock(o.next) +
			", unless the config changes or a person logs in."
	}
	return "The login may have succeeded; the next call repeats it."
}

// asks says until when the service asks to wait.
func (o outage) asks(now time.Time) string {
	until := o.at.Add(o.fault.After)
	if o.fault.After <= 0 || !until.After(now) {
		return ""
	}
	if until.Sub(now) > 12*time.Hour {
		return " It asks to wait until " + day(until) + "."
	}
	return " It asks to wait until " + clock(until) + "."
}

// certificateWarns is how long before its end a certificate is a finding.
const certificateWarns = 14 * 24 * time.Hour

func certificateCauses() []cause {
	return []cause{{id: "certificate_ends", part: PartCertificate, severity: Warning, who: Provider,
		next: Next{Do: "Ask for a new certificate before that day.", Command: "opdeck doctor"},
		found: of(func(f Facts) Fact[Certificate] { return f.Certificate },
			func(f Facts, c Certificate) (string, string, time.Time) {
				if c.Until.Sub(f.Now) > certificateWarns || !c.Until.After(f.Now) {
					return "", "", time.Time{}
				}
				return fmt.Sprintf("The certificate of %s ends on %s.", f.Service, day(c.Until)), "valid until " + day(c.Until),
					time.Time{}
			})}}
}

// Row names a cause that a verdict can have.
type Row struct {
	Cause    Cause
	Part     Part
	Severity Severity
}

// Table lists all causes, in causal order.
func Table() []Row {
	var out []Row
	for _, c := range causes() {
		out = append(out, Row{c.id, c.part, c.severity})
	}
	return out
}

// Measured are figures of facts that still hold; the zero value of one is not known.
type Measured struct {
	Answered    time.Time // the newest answer of the service, of any age
	Certificate time.Time // when the service's certificate ends
}

// Measure returns the figures of facts.
func Measure(f Facts) (m Measured) {
	for _, one := range f.Calls {
		if good := one.Value.Good; good.After(m.Answered) {
			m.Answered = good
		}
	}
	if c, known := f.Certificate.at(f.Now); known {
		m.Certificate = c.Until
	}
	return m
}
