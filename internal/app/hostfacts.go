package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"time"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store/journal"
)

// What processes note for each other, and how long it holds.
const (
	portPart, auditPart = "port", "audit"
	noteHolds           = 24 * time.Hour
	stuckAfter          = 2 * time.Minute // since the last step of a replacement
)

func observations(a *App) *journal.Observations {
	return journal.NewObservations(a.Store.Core, a.Scope())
}

// NotePort notes for other processes whether this one listens on a port: name is what it is for ("webhooks"), err why
// it does not.
func NotePort(ctx context.Context, a *App, name, addr string, err error) {
	id := name + " on " + HostName()
	if err == nil {
		err = observations(a).Remove(ctx, portPart, id)
	} else {
		body, bad := json.Marshal(verdict.Port{Name: name, Addr: addr, Fault: portFault(err)})
		if err = bad; bad == nil {
			err = observations(a).Put(ctx, portPart, id, body)
		}
	}
	if err != nil {
		a.Log.Warn("a port is not noted for other processes", "name", name, "err", err)
	}
}

func portFault(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program uses the address"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this host does not have the address"
	case errors.Is(err, syscall.EACCES):
		return "the system does not allow it to this user"
	}
	return strings.TrimRight(api.AsError(err).Public, ". ")
}

// auditNote is the last check of the trail.
type auditNote struct {
	Broken []string `json:"broken,omitempty"`
}

// VerifyAudit checks the trail and notes the result for other processes.
func VerifyAudit(ctx context.Context, a *App) (audit.Report, error) {
	rep, err := a.Audit.Prover.Verify(ctx)
	if err != nil {
		return rep, err
	}
	NoteAudit(ctx, a, rep)
	return rep, nil
}

// NoteAudit notes the result of a check of the trail for other processes. A host that knows too few keys to prove
// anything notes nothing.
func NoteAudit(ctx context.Context, a *App, rep audit.Report) {
	if len(rep.Problems) == 0 && len(rep.Unknown) > 0 {
		return
	}
	var note auditNote
	if !rep.Intact() {
		note.Broken = []string{rep.Summary()}
	}
	body, err := json.Marshal(note)
	if err == nil {
		err = observations(a).Put(ctx, auditPart, "verified", body)
	}
	if err != nil {
		a.Log.Warn("the check of the audit trail is not noted for other processes", "err", err)
	}
}

// noted reads what other processes noted: ports and the audit trail.
func (a factReader) noted(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	list, now, err := observations(a.App).All(ctx)
	by := f.Now.Sub(now)
	for _, o := range list {
		at := o.Seen.Add(by)
		switch o.Part {
		case portPart:
			var p verdict.Port
			if json.Unmarshal(o.Body, &p) == nil {
				p.Since = at
				f.Ports = append(f.Ports, verdict.Known(p, o.Name, at, noteHolds))
			}
		case auditPart:
			var n auditNote
			if json.Unmarshal(o.Body, &n) == nil && len(n.Broken) > 0 {
				f.Audit.Value.Broken, f.Audit.Value.Since = n.Broken, at
			}
		}
	}
	return err
}

// auditFact is the trail as this process sees it.
func (a factReader) auditFact(_ context.Context, f *verdict.Facts, _ session.Status) error {
	health := a.Audit.Health()
	out := verdict.Audit{Writable: health.Err == nil || errors.Is(health.Err, errNewHost), Since: health.Since,
		NoKey: a.Audit.Unrecorded() != nil}
	if bad := health.Tampered(); bad != nil {
		out.Broken = []string{bad.Error()}
	}
	f.Audit = verdict.Known(out, "this process's audit trail", f.Now, readHolds)
	return nil
}

// jobFacts adds the replacements that stopped between two steps.
func (a factReader) jobFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	jobs, err := a.Jobs.Store.Unfinished(ctx)
	if err != nil {
		return err
	}
	host := a.Now()
	for _, j := range jobs {
		if host.Sub(j.Updated) < stuckAfter {
			continue
		}
		w := &f.Writes.Value
		w.Stuck++
		if at := f.Now.Add(j.Updated.Sub(host)); w.StuckSince.IsZero() || at.Before(w.StuckSince) {
			w.StuckSince = at
		}
	}
	return nil
}

// watchCertificate notes until when the certificate of each connection to the service is valid.
func watchCertificate(a *App, conf *tls.Config) {
	conf.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) > 0 {
			until := s.PeerCertificates[0].NotAfter
			a.certificate.Store(&until)
		}
		return nil
	}
}
