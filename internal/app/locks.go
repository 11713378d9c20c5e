package app

import (
	"context"
	"encoding/json"
	"slices"

	"opdeck/api"
)

// lockPart names the observations of documents that the service refused to remove because they are locked. Each is kept
// until a read tells the lock.
const lockPart = "lock"

type refusedLock struct {
	OPID string `json:"opid"`
	GUID string `json:"guid"`
}

func (r refusedLock) name() string { return r.OPID + "\n" + r.GUID }

// onLocked keeps the service's refusal of a removal.
func (a *App) onLocked(ctx context.Context, act api.Act) {
	r := refusedLock{act.ID, act.Item}
	body, err := json.Marshal(r)
	if err == nil {
		err = observations(a).Put(ctx, lockPart, r.name(), body)
	}
	if err != nil {
		a.Log.Error("the refusal of a locked document is not kept", "opid", r.OPID, "document", r.GUID, "err", err)
	}
}

// refusedLocks reads what onLocked kept.
func (a *App) refusedLocks(ctx context.Context) api.RefusedLocks {
	list, _, err := observations(a).All(ctx)
	if err != nil {
		a.Log.Warn("refusals of locked documents cannot be read", "err", err)
	}
	out := api.RefusedLocks{}
	for _, o := range list {
		var r refusedLock
		if o.Part == lockPart && json.Unmarshal(o.Body, &r) == nil {
			out[r.OPID] = append(out[r.OPID], r.GUID)
		}
	}
	return out
}

// knowLocks completes in place the locks that a read of operations does not tell, and forgets refusals of documents
// whose lock it tells.
func (a *App) knowLocks(ctx context.Context, ops []api.Operation) {
	if !slices.ContainsFunc(ops, func(o api.Operation) bool { return len(o.Documents) > 0 }) {
		return
	}
	refused := a.refusedLocks(ctx)
	for _, o := range ops {
		for _, guid := range refused[string(o.OPID)] {
			d, there := o.Document(guid)
			if !there || d.Lock == api.LockUnknown {
				continue
			}
			r := refusedLock{string(o.OPID), guid}
			if err := observations(a).Remove(context.WithoutCancel(ctx), lockPart, r.name()); err != nil {
				a.Log.Warn("the refusal of a locked document is not removed", "err", err)
			}
		}
		copy(o.Documents, refused.In(o))
	}
}
