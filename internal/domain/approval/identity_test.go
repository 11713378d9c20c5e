package approval_test

import (
	"context"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/approval"
)

// here is the person of a user id on one host.
func here(name, uid string) api.Actor {
	return api.Actor{Name: name, Role: api.Operator, Via: "command", UID: uid, Host: "boot-1"}
}

// certified is the person of a certificate for a key.
func certified(login, id, key string) api.Actor {
	return api.Actor{Name: id, Role: api.Operator, Via: "ssh", Key: "SHA256:" + key, Login: login, Cert: id, Serial: "7 of SHA256:ca"}
}

func changed(a api.Actor, fn func(*api.Actor)) api.Actor { fn(&a); return a }

// A person who may be the requester under another name cannot approve.
func TestNobodyIsTwoPeople(t *testing.T) {
	alice := here("alice", "1001")
	for _, c := range []struct {
		name     string
		asks, by api.Actor
		says     string // "": they are two people
	}{
		{"two keys, two names", overSSH("ana"), overSSH("bo"), ""},
		{"key and certificate of two people", overSSH("ana"), certified("bo", "bo-1", "bo"), ""},
		{"the same key, once in a certificate", overSSH("ana"), certified("ana", "ana-cert", "ana"), "same key"},
		{"the same key in a certificate for another login", overSSH("ana"), certified("root", "x", "ana"), "same key"},
		{"another key in a certificate for the same login", overSSH("ana"), certified("ana", "ana-cert", "laptop"), "own request"},
		{"the key id is the requester's name", overSSH("ana"), certified("bo", "ana", "laptop"), "own request"},
		{"two certificates of one key", certified("ana", "vault-1", "a"), certified("anna", "vault-2", "a"), "same key"},
		{"two certificates of one login", certified("ana", "vault-1", "a"), certified("ana", "vault-2", "b"), "own request"},
		{"two certificates of one id", certified("ana", "vault-1", "a"), certified("anna", "vault-1", "b"), "own request"},
		{"a login name that is the other's key id", certified("ana", "bo", "a"), overSSH("bo"), "own request"},
		{"letters of another case", overSSH("ana"), overSSH("ANA"), "own request"},
		{"Cyrillic letters", overSSH("ana"), changed(overSSH("bo"), func(a *api.Actor) { a.Login = "аnа" }), "own request"},
		{"full width, a mark, a hidden character", overSSH("ana"), changed(overSSH("bo"), func(a *api.Actor) { a.Name = "ａn\u200bá" }), "own request"},
		{"no key", overSSH("ana"), api.Actor{Name: "bo", Role: api.Operator}, "Nothing proves"},
		{"a request without a proof", api.Actor{Name: "ana", Role: api.Operator, Via: "ssh", Key: "SHA256:ana"}, overSSH("bo"), "Nothing proves"},

		{"two user ids", alice, here("bob", "1002"), ""},
		{"one user id, another name", alice, here("bob", "1001"), "your user id"},
		{"another user id, the same name", alice, here("Alice", "1002"), "own request"},
		{"sudo", alice, changed(here("root", "0"), func(a *api.Actor) { a.LoginUID = "1001" }), "your user id"},
		{"both behind sudo of one login", changed(here("root", "0"), func(a *api.Actor) { a.LoginUID = "1001" }), changed(here("www", "33"), func(a *api.Actor) { a.LoginUID = "1001" }), "your user id"},
		{"another host", alice, changed(here("bob", "1002"), func(a *api.Actor) { a.Host = "boot-2" }), "another host"},
		{"may belong to another host", alice, changed(here("bob", "1001"), func(a *api.Actor) { a.Host = "boot-2" }), "another host"},
		{"a user id without an entry", alice, changed(here("uid 54321", "54321"), func(a *api.Actor) { a.Doubt = "has no entry in /etc/passwd" }), "has no entry in /etc/passwd"},
		{"a user namespace", alice, changed(here("dora", "1004"), func(a *api.Actor) { a.Doubt = "is one of a user namespace" }), "user namespace"},
		{"a requester in a user namespace", changed(alice, func(a *api.Actor) { a.Doubt = "is one of a user namespace" }), here("bob", "1002"), "The requester's user id"},
		{"a key and a user id", overSSH("ana"), here("bob", "1002"), "may be the same person"},
		{"a user id and a key", alice, overSSH("bo"), "may be the same person"},
	} {
		st := &memory{}
		f := &fixture{trail: &trail{}, today: map[string]api.Role{}, open: func() approval.Store { return st }}
		f.Service = f.service(service, account)
		r := f.filed(t, c.asks, act)
		_, err := f.Approve(as(c.by), r.ID, "", "")
		bars := approval.WhyNotSecond(c.by, r.Requester)
		switch {
		case c.says == "" && (err != nil || bars != nil):
			t.Errorf("%s: %v", c.name, err)
		case c.says != "" && (err == nil || bars == nil || api.AsError(err).Rule != api.RuleRole || !strings.Contains(bars.Public, c.says) || bars.Hint == ""):
			t.Errorf("%s: %v, %v", c.name, err, bars)
		}
		if c.says != "" { // an approval that got into the store nevertheless is not used
			st.approve(r.ID, c.by)
			if id, rule := f.check(t, c.asks, act); id != "" || rule != api.RuleApproval {
				t.Errorf("%s: the approval was used: %q, rule %q", c.name, id, rule)
			}
		}
	}
}

// An approval is for who asked: another key under the same login name uses it only
// with the same certificate id, and another user id never.
func TestWhoMayUseAnApproval(t *testing.T) {
	for _, c := range []struct {
		name      string
		asks, use api.Actor
		ok        bool
	}{
		{"the same key", overSSH("ana"), overSSH("ana"), true},
		{"another key of the same name", overSSH("ana"), changed(overSSH("ana"), func(a *api.Actor) { a.Key = "SHA256:laptop" }), true},
		{"the key in a certificate", overSSH("ana"), certified("ana", "vault-1", "ana"), true},
		{"a renewed certificate", certified("ana", "vault-1", "a"), certified("ana", "vault-2", "a"), true},
		{"a colleague who shares the login", certified("ops", "ana", "a"), certified("ops", "cy", "c"), false},
		{"another login", overSSH("ana"), overSSH("cy"), false},
		{"the same user id, renamed", here("alice", "1001"), here("alicia", "1001"), true},
		{"another user id", here("alice", "1001"), here("alice", "1003"), false},
		{"may belong to another host", here("alice", "1001"), changed(here("alice", "1001"), func(a *api.Actor) { a.Host = "boot-2" }), false},
	} {
		st := &memory{}
		f := &fixture{trail: &trail{}, today: map[string]api.Role{}, open: func() approval.Store { return st }}
		f.Service = f.service(service, account)
		r := f.filed(t, c.asks, act)
		second := overSSH("bo")
		if c.asks.UID != "" {
			second = here("bob", "1002")
		}
		if _, err := f.Approve(as(second), r.ID, "", ""); err != nil {
			t.Fatal(c.name, err)
		}
		if approval.IsRequester(c.use, r) != c.ok {
			t.Errorf("%s: asked: %v", c.name, !c.ok)
		}
		if id, rule := f.check(t, c.use, act); (id == r.ID) != c.ok {
			t.Errorf("%s: used: %q, rule %q", c.name, id, rule)
		}
	}
}

// standing: an approval counts only while who gave it may still approve.
func standing(t *testing.T, f *fixture) {
	for name, role := range map[string]api.Role{"demoted": api.Viewer, "without a key": ""} {
		a := act
		a.Item = name
		f.today = map[string]api.Role{}
		r := f.filed(t, ana, a)
		if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
			t.Fatal(err)
		}
		f.today["bo"] = role
		_, err := f.Check(as(ana), ana, a)
		if e := api.AsError(err); e == nil || e.Rule != api.RuleApproval || !strings.Contains(e.Public, "bo may no longer approve") || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.state(t, r.ID); got != approval.Lapsed {
			t.Errorf("%s: %s", name, got)
		}
		f.today = map[string]api.Role{} // back again: what lapsed stays lapsed
		if next := f.filed(t, ana, a); next.ID == r.ID {
			t.Errorf("%s: the approval came back to life", name)
		}
	}
	f.trail.take()
	there := changed(bo, func(a *api.Actor) { a.Host = "SHA256:server" })
	open, given, elsewhere := act, act, act
	open.Item, given.Item, elsewhere.Item = "open", "given", "elsewhere"
	asked, used, other := f.filed(t, ana, open), f.filed(t, ana, given), f.filed(t, ana, elsewhere)
	for id, by := range map[string]api.Actor{used.ID: there, other.ID: bo} {
		if _, err := f.Approve(as(by), id, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	mine := f.filed(t, changed(overSSH("cy"), func(a *api.Actor) { a.Host = "SHA256:server" }), act)
	for i, want := range []approval.State{approval.Approved, approval.Lapsed} {
		if err := f.Recheck(context.Background(), "SHA256:server"); err != nil {
			t.Fatal(err)
		}
		if got := f.state(t, used.ID); got != want {
			t.Errorf("look %d: %s, want %s", i, got, want)
		}
		f.today["bo"], f.today["cy"] = api.Analyst, ""
	}
	if f.state(t, asked.ID) != approval.Open || f.state(t, other.ID) != approval.Approved {
		t.Error("another server's people, or a request that nobody decided, were touched")
	}
	if f.state(t, mine.ID) != approval.Lapsed {
		t.Error("the request of a key that is gone still waits")
	}
	if got := f.trail.take(); strings.Count(got, "approval.lapsed") != 2 {
		t.Error(got)
	}
}
