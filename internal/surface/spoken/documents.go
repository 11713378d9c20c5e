package spoken

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/plain"
)

// removed is a document that was taken off here and can be put back.
type removed struct{ guid, name string }

// desk is the documents of one operation.
type desk struct {
	*console
	opid string
	op   api.Operation
}

// documents is the place where documents are removed, put back and replaced.
func (c *console) documents(ctx context.Context, opid string) error {
	d := &desk{console: c, opid: opid}
	defer c.enter("operation", opid)()
	may := func() string { return c.mayNot(api.MayDocuments) }
	file := func() string { return cmp.Or(may(), c.noFiles()) }
	return c.talk.Menu(ctx, plain.Menu{Name: "Documents of the operation" + ending(opid), Numbers: "says everything about that document",
		Intro: func(ctx context.Context) error { return d.read(ctx, false) },
		Pick: func(_ context.Context, n int) error {
			if doc, ok := d.doc(strconv.Itoa(n)); ok {
				d.talk.Say(d.details(doc)...)
			}
			return nil
		},
		Commands: []plain.Command{
			{Name: "remove", Alias: []string{"x"}, Args: "NUMBER", Help: "takes a document off the operation, after a question.", Why: may, Do: d.remove},
			{Name: "putback", Alias: []string{"restore", "z"}, Help: "puts back the document that was removed here last.", Why: d.cannotPutBack, Do: d.putBack},
			{Name: "attach", Args: "ID", Help: "links an uploaded document to the operation by its id.", Why: may, Do: d.attach},
			{Name: "upload", Args: "FILE", Help: "uploads a file of this host and attaches it.", Why: file, Do: d.upload},
			{Name: "replace", Args: "NUMBER", Help: "replaces a document by a file of this host, as one job.", Why: file, Do: d.replace},
			{Name: "resume", Help: "offers replacements of this operation that stand still.", Why: may,
				Do: func(ctx context.Context, _ string) error { return d.resume(ctx) }},
			{Name: "reload", Alias: []string{"r"}, Help: "reads the operation from the service; costs one billing call.",
				Do: func(ctx context.Context, _ string) error { return d.read(ctx, true) }},
		}})
}

func (d *desk) read(ctx context.Context, fresh bool) error {
	got, err := d.load(ctx, d.opid, fresh)
	if err != nil {
		if err := d.failed(ctx, "The documents", err); err != nil {
			return err
		}
		if d.op.OPID == "" {
			return plain.ErrLeave
		}
		return nil
	}
	d.op = got.op
	d.list()
	if jobs := d.jobsOf(ctx); len(jobs) > 0 {
		d.talk.Say(plural(len(jobs), "replacement stands", "replacements stand") + " still here. resume goes on or gives up.")
	}
	return nil
}

func (d *desk) list() {
	d.talk.Say("Operation " + d.op.OPID.Line(128) + ", status " + safe(d.op.Status, 60) + ", has " + documentsLine(d.op) + ".")
	if phase := d.app.Client.Phase(d.op); phase.Ended() {
		d.talk.Say("It is " + phase.Word() + ", and the service normally does not change documents of such operations.")
	}
	for i, doc := range d.op.Documents {
		d.talk.Say(numbered(i+1, documentLine(doc)))
	}
}

// documentLine is one document in a sentence.
func documentLine(d api.Document) string {
	return safe(d.FileName, 200) + ", " + safe(d.DocType, 60) + ", " + draw.Size(d.Size) + ", " + yesNo(d.IsLock, "LOCKED", "not locked") + "."
}

func (d *desk) details(doc api.Document) []string {
	out := field("File name", doc.FileName)
	out = append(out, field("Document id", doc.GUID)...)
	out = append(out, field("Type", doc.DocType)...)
	out = append(out, field("Media type", doc.MIME)...)
	out = append(out, "Size: "+draw.Size(doc.Size)+", "+plural(int(doc.Size), "byte", "bytes"))
	out = append(out, field("Info", doc.Info)...)
	return append(out, d.when("Created", doc.CreateAt), "Locked: "+yesNo(doc.IsLock, "yes, it cannot be removed", "no"))
}

// doc finds the document of a number; ok is false after saying why not.
func (d *desk) doc(typed string) (api.Document, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(typed, "."))
	switch {
	case err == nil && n >= 1 && n <= len(d.op.Documents):
		return d.op.Documents[n-1], true
	case len(d.op.Documents) == 0:
		d.talk.Say("There is no document.")
	default:
		d.talk.Say("Give the number of a document: 1 to " + count(len(d.op.Documents)) + ". For example: remove 1.")
	}
	return api.Document{}, false
}

func (d *desk) facts(doc api.Document) []plain.Pair {
	out := []plain.Pair{{Label: "Document", Value: safe(doc.FileName, 400)}, {Label: "Document id", Value: doc.GUID.Line(64)}}
	if doc.FileName.Flags().Suspicious() {
		out = append(out, plain.Pair{Label: "Its name to the letter", Value: doc.FileName.Quoted()})
	}
	return append(out, plain.Pair{Label: "Type and size", Value: safe(doc.DocType, 60) + ", " + draw.Size(doc.Size)},
		plain.Pair{Label: "Operation id", Value: d.opid}, plain.Pair{Label: "Status", Value: safe(d.op.Status, 60)},
		plain.Pair{Label: "Amount", Value: money(d.op.SourceAmount.Sum)})
}

// locked explains instead of asking: nothing would be sent anyway.
func (d *desk) locked(doc api.Document, act string) {
	d.talk.Say(safe(doc.FileName, 200)+" is locked and cannot be "+act+". Nothing was sent.",
		"A lock is set by a compliance team, usually while it reviews the document. The service tells neither who set it nor when.",
		"Only the compliance team can lift it. Ask it, and name document "+doc.GUID.Line(64)+" of operation "+d.opid+"; then reload.")
}

func (d *desk) remove(ctx context.Context, arg string) error {
	doc, ok := d.doc(arg)
	if !ok {
		return nil
	}
	if doc.IsLock {
		d.locked(doc, "removed")
		return nil
	}
	name, seen, phase := doc.FileName.Line(80), d.op, d.app.Client.Phase(d.op)
	risk := "Only the link goes; putback puts it back."
	if phase.Ended() {
		risk = "The operation is " + phase.Word() + ": the service normally refuses this, and may refuse to take it back. " + risk
	}
	var now api.Operation
	done, err := d.write(ctx, plain.Question{Ask: "Remove " + name + " from operation " + d.opid + "?", Facts: d.facts(doc), Risk: risk,
		Deed: "remove " + name, ID: string(doc.GUID), IDLabel: "document id"}, "Removal", "removing the document",
		func(ctx context.Context) (err error) {
			now, err = d.app.Client.RemoveDocument(ctx, api.RemoveDocument{OPID: d.opid, GUID: string(doc.GUID), Seen: &seen, Force: phase.Ended()})
			return err
		})
	if err != nil || !done {
		return err
	}
	d.console.removed[d.opid] = append(d.console.removed[d.opid], removed{string(doc.GUID), name})
	d.talk.Say("Done. Removed " + name + ". putback puts it back.")
	return d.now(ctx, now)
}

// now takes the operation that a write came back with and says it. An empty one
// could not be read, although the write was done.
func (d *desk) now(_ context.Context, op api.Operation) error {
	if op.OPID == "" {
		d.talk.Say("The operation could not be read to say it. reload reads it.")
		return nil
	}
	d.op = op
	d.list()
	return nil
}

func (d *desk) cannotPutBack() string {
	if why := d.mayNot(api.MayDocuments); why != "" {
		return why
	}
	if len(d.console.removed[d.opid]) == 0 {
		return "Nothing was removed from this operation here. attach links a document by its id."
	}
	return ""
}

func (d *desk) putBack(ctx context.Context, _ string) error {
	stack := d.console.removed[d.opid]
	last := stack[len(stack)-1]
	now, done, err := d.link(ctx, "Put back "+last.name, "put back "+last.name, "Putting back", last.guid, "")
	if err == nil && done {
		d.console.removed[d.opid] = stack[:len(stack)-1]
		d.talk.Say("Done. Put back " + last.name + ".")
		return d.now(ctx, now)
	}
	return err
}

// link asks and attaches a document.
func (d *desk) link(ctx context.Context, ask, deed, what, guid, name string) (now api.Operation, done bool, err error) {
	done, err = d.write(ctx, plain.Question{Ask: ask + " to operation " + d.opid + "?", Deed: deed, ID: guid, IDLabel: "document id",
		Facts: []plain.Pair{{Label: "Document id", Value: guid}, {Label: "Operation id", Value: d.opid}, {Label: "Status", Value: safe(d.op.Status, 60)}}},
		what, "attaching the document", func(ctx context.Context) (err error) {
			now, err = d.app.Client.AttachDocument(ctx, d.opid, guid, name)
			return err
		})
	return now, done, err
}

func (d *desk) attach(ctx context.Context, guid string) error {
	if guid == "" {
		var err error
		if guid, err = d.askID(ctx, "document id"); err != nil {
			return err
		}
	}
	if err := api.CheckID("document id", guid); err != nil {
		return d.failed(ctx, "Attaching", err)
	}
	name, err := d.talk.Ask(ctx, plain.Field{Label: "What it is called there", Help: "The service keeps its own name for it when this is empty.", Optional: true})
	if err != nil {
		return err
	}
	now, done, err := d.link(ctx, "Attach document "+guid, "attach it", "Attaching", guid, name)
	if err == nil && done {
		d.talk.Say("Done. Attached.")
		return d.now(ctx, now)
	}
	return err
}

// expand replaces ~/ by the home folder of the person who runs the console.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// file is a file that is to be uploaded, and what is told about it.
type file struct {
	path, name, kind, info string
	size                   int
}

// askFile asks for a file of this host and looks at it before anything else.
func (d *desk) askFile(ctx context.Context, path string) (f file, u api.Upload, err error) {
	if why := d.noFiles(); why != "" {
		d.talk.Say(why)
		return f, u, plain.ErrBack
	}
	check := func(p string) error {
		if u, err = readFile(expand(p), string(d.op.Customer.CUID)); err != nil {
			return plainly(err)
		}
		return nil
	}
	if path != "" {
		if err := check(path); err != nil {
			d.talk.Say(err.Error())
			path = ""
		}
	}
	if path == "" {
		if path, err = d.talk.Ask(ctx, plain.Field{Label: "File on this host",
			Help: "PDF up to 10 MB, JPEG, PNG and Word up to 5 MB, text up to 1 MB. A file called back or quit is written ./back or ./quit.", Check: check}); err != nil {
			return f, u, err
		}
	}
	if u.Type, err = d.talk.Ask(ctx, plain.Field{Label: "Type", Help: "INVOICE or CONTRACT, for example.", Optional: true}); err != nil {
		return f, u, err
	}
	if u.Info, err = d.talk.Ask(ctx, plain.Field{Label: "Description", Help: "Free text.", Optional: true}); err != nil {
		return f, u, err
	}
	return file{path: expand(path), name: untrusted.Text(u.FileName).Line(80), kind: u.Type, info: u.Info, size: len(u.Content)}, u, nil
}

func (d *desk) upload(ctx context.Context, path string) error {
	f, u, err := d.askFile(ctx, path)
	if err != nil {
		return err
	}
	var now api.Operation
	done, err := d.write(ctx, plain.Question{Ask: "Upload " + f.name + " and attach it to operation " + d.opid + "?", Deed: "upload " + f.name,
		Risk: "The file goes into the customer's store and is then linked. One customer call and one billing call.",
		ID:   d.opid, IDLabel: "operation id", Facts: append(f.facts(), plain.Pair{Label: "Operation id", Value: d.opid})},
		"Upload", "uploading the file", func(ctx context.Context) error {
			got, err := d.app.Client.UploadDocument(ctx, u)
			if err != nil {
				return err
			}
			d.talk.Say("Uploaded as document " + got.ID.Line(64) + ". Attaching it.")
			if now, err = d.app.Client.AttachDocument(ctx, d.opid, string(got.ID), u.FileName); err != nil {
				e := *api.AsError(err)
				e.Hint = "The file is uploaded as " + got.ID.Line(64) + "; attach links it by that id. " + e.Hint
				return &e
			}
			return nil
		})
	if err != nil || !done {
		return err
	}
	d.talk.Say("Done. Uploaded and attached " + f.name + ".")
	return d.now(ctx, now)
}

func (f file) facts() []plain.Pair {
	out := []plain.Pair{{Label: "File", Value: untrusted.Text(f.path).Line(400)}, {Label: "Size", Value: draw.Size(int64(f.size))}}
	if f.kind != "" {
		out = append(out, plain.Pair{Label: "Type", Value: untrusted.Text(f.kind).Line(100)})
	}
	return out
}
