package spoken

import (
	"context"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/replace"
	"opdeck/ui/plain"
)

// readFile reads and checks a file that is to be uploaded.
func readFile(path, cuid string) (api.Upload, error) {
	u, err := app.ReadUpload(path)
	if err != nil {
		return u, err
	}
	u.CUID = cuid
	return u, api.CheckUpload(u)
}

// steps says what a job has just come to.
var steps = map[replace.Step]string{
	replace.Removing: "Step 1 of 3, removing the old document.", replace.Removed: "The old document is removed.",
	replace.Uploading: "Step 2 of 3, uploading the new file.", replace.Uploaded: "The new file is uploaded.",
	replace.Attaching: "Step 3 of 3, attaching it.", replace.Attached: "It is attached.",
}

// runJob runs a job, saying its steps.
func (c *console) runJob(ctx context.Context, j replace.Job) (replace.Job, error) {
	jobs := *c.app.Jobs // with our own ear for its steps
	jobs.OnStep = func(j replace.Job) {
		if s, ok := steps[j.Step]; ok {
			c.talk.Say(s)
		}
	}
	j, err := jobs.Run(ctx, j)
	return j, err
}

// jobsOf are the jobs of this operation that stand still.
func (d *desk) jobsOf(ctx context.Context) []replace.Job {
	jobs, _ := d.app.UnfinishedJobs(ctx, d.opid) // an error is told by the acts that need the store
	return jobs
}

func (d *desk) replace(ctx context.Context, arg string) error {
	doc, ok := d.doc(arg)
	if !ok {
		return nil
	}
	if len(d.jobsOf(ctx)) > 0 {
		d.talk.Say("A replacement of this operation stands still. It comes first.")
		return d.resume(ctx)
	}
	if doc.IsLock {
		d.locked(doc, "replaced")
		return nil
	}
	d.talk.Say("A replacement is one job: the old document is removed, the new file uploaded and attached. It is written down before each step; if it is cut off it can be resumed or given up.")
	f, u, err := d.askFile(ctx, "")
	if err != nil {
		return err
	}
	seen, phase, old := d.op, d.app.Client.Phase(d.op), doc.FileName.Line(80)
	risk := "Between removal and attaching the operation is without this document."
	if phase.Ended() {
		risk = "The operation is " + phase.Word() + ": the service normally refuses this. " + risk
	}
	done, err := d.write(ctx, plain.Question{Ask: "Replace " + old + " by " + f.name + "?", Facts: append(d.facts(doc), f.facts()...), Risk: risk,
		Deed: "replace " + old, ID: string(doc.GUID), IDLabel: "document id"}, "Replacement", "replacing the document",
		func(ctx context.Context) error {
			j, err := d.app.Jobs.Plan(ctx, seen, string(doc.GUID), u, phase.Ended())
			if err != nil {
				return err
			}
			_, err = d.runJob(ctx, j)
			return err
		})
	if done {
		d.talk.Say("Done. Replaced " + old + " by " + f.name + ".")
	}
	return d.after(ctx, done, err)
}

// after reads the operation again once a job moved.
func (d *desk) after(ctx context.Context, done bool, err error) error {
	if err != nil {
		return err
	}
	if jobs := d.jobsOf(ctx); !done && len(jobs) > 0 {
		d.talk.Say("The replacement stands at: " + string(jobs[0].Step) + ". resume goes on or gives it up.")
	}
	return d.read(ctx, true)
}

func (d *desk) resume(ctx context.Context) error {
	jobs := d.jobsOf(ctx)
	if len(jobs) == 0 {
		d.talk.Say("No replacement of this operation stands still.")
		return nil
	}
	for _, j := range jobs {
		if err := d.offerJob(ctx, j); err != nil {
			return err
		}
	}
	return d.read(ctx, true)
}

// offerJobs offers what stands still at the start.
func (c *console) offerJobs(ctx context.Context) error {
	jobs, err := c.app.UnfinishedJobs(ctx, "")
	if err != nil || len(jobs) == 0 {
		return nil
	}
	c.talk.Say(plural(len(jobs), "replacement of a document stands", "replacements of documents stand") + " still.")
	if why := c.mayNot(api.MayDocuments); why != "" {
		c.talk.Say(why)
		return nil
	}
	for _, j := range jobs {
		if err := c.offerJob(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// offerJob goes on with a job, gives it up, or leaves it.
func (c *console) offerJob(ctx context.Context, j replace.Job) error {
	old, name := untrusted.Text(j.OldName).Line(80), untrusted.Text(j.FileName).Line(80)
	c.talk.Say("The replacement of " + old + " by " + name + " on operation " + j.OPID + " stands at: " + string(j.Step) + ". " + sentence(j.Problem))
	type way struct {
		offer, ask, deed, said string
		run                    func(context.Context, replace.Job) (replace.Job, error)
	}
	ways := []way{{"Resume: look what became of it, then go on.", "Resume the replacement of " + old + "?", "resume it", "Done. Replaced " + old + " by " + name + ".", c.runJob}}
	for _, file := range j.Candidates[:min(len(j.Candidates), 4)] {
		ways = append(ways, way{"Take the customer's file " + file + " as the uploaded one.", "Take file " + file + " as the uploaded one and attach it?", "take it",
			"Done. Replaced " + old + " by " + name + ".", func(ctx context.Context, j replace.Job) (replace.Job, error) { return c.app.Jobs.Use(ctx, j, file) }})
	}
	switch j.Step {
	case replace.Removing, replace.Uploading, replace.Attaching:
		ways = append(ways, way{"Send again what was not seen in time.", "Send it again?", "send it again", "Done. Replaced " + old + " by " + name + ".", c.app.Jobs.Again})
	}
	ways = append(ways, way{"Give up: put the old document back.", "Give up the replacement of " + old + " and put it back?", "give it up", "Given up. " + old + " is attached.", c.app.Jobs.Abandon})
	var offers []string
	for _, w := range ways {
		offers = append(offers, w.offer)
	}
	what, err := c.talk.Choose(ctx, "What about it", append(offers, "Leave it for later.")...)
	if err != nil || what >= len(ways) {
		return err
	}
	chosen := ways[what]
	q := plain.Question{Ask: chosen.ask, Deed: chosen.deed, ID: j.OldGUID, IDLabel: "document id",
		Facts: []plain.Pair{{Label: "Operation id", Value: j.OPID}, {Label: "Document id", Value: j.OldGUID}, {Label: "New file", Value: name}}}
	done, err := c.write(ctx, q, "Replacement", "at the replacement", func(ctx context.Context) error {
		_, err := chosen.run(ctx, j)
		return err
	})
	if done {
		c.talk.Say(chosen.said)
	}
	return err
}
