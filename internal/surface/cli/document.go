package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/replace"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

// documentsJSON holds the documents of an operation.
type documentsJSON struct {
	Items []api.Document `json:"items" null:"unreported"` // null: not reported or unreadable
	OPID  string         `json:"opid"`
}

func documentListCommand(r *root) *cobra.Command {
	type documents = view[documentsJSON, api.Document]
	return prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, args []string) (documents, error) {
		op, err := endpoint.Do(ctx, a.Client, endpoint.GetOperation, args[0])
		none := "The operation has no documents; opdeck document attach " + args[0] + " DOCID adds one."
		if !op.DocumentsReported() {
			none = "The answer has no readable list of documents, so opdeck does not know whether there are any. opdeck " +
				"operation get " + args[0] + " -o json shows it."
			if r.output != "table" {
				r.say("%s", none)
			}
		} else if n := op.UnreadDocuments; n > 0 {
			r.say("%s of the answer cannot be read; opdeck operation get %s -o json shows the raw answer.",
				format.Plural(n, "document", "documents"), args[0])
		}
		o := r.options(ctx, a)
		if gone, _ := a.Follow.Removed(ctx, args[0]); err == nil {
			for _, d := range op.Documents {
				if at, removed := gone[string(d.GUID)]; removed {
					r.say("%s", present.Removed(o, d.FileName.Line(60), at))
				}
			}
		}
		return list(documentsJSON{op.Documents, string(op.OPID)}, op.Documents,
			documentTable(o, op.Documents).none(none)), err
	})
}

func documentTable(o present.Options, docs []api.Document) *table {
	return fieldTable(o, field.Documents, docs, "id", "name", "type", "media", "size", "locked", "created", "description")
}

func documentRemoveCommand(r *root) *cobra.Command {
	var force bool
	cmd := &cobra.Command{Long: "Removes a document from an operation. This removes the link only; document restore " +
		"attaches it again. opdeck never sends a document that the service calls locked. --force lifts two guards of " +
		"opdeck's own: for operations that have ended, and for a lock that the service does not tell. The service may " +
		"still refuse."}
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string) (asked, sending[changedJSON], error) {
		w := onDocument(args, args[1], force)
		if gone, _ := a.Follow.Removed(ctx, args[0]); !gone[args[1]].IsZero() {
			w.risk = strings.TrimSpace(present.Removed(r.options(ctx, a), "It", gone[args[1]]) + " " + w.risk)
		}
		return w, func(ctx context.Context) (record[changedJSON], error) {
			op, err := endpoint.Do(ctx, a.Client, endpoint.RemoveDocument, api.RemoveDocument{OPID: args[0], GUID: args[1],
				Force: force})
			sentence := "Removed. To restore it: opdeck document restore " + args[0] + " " + args[1]
			if c, _ := evidence.Of(ctx).ByRead(args[0], args[1]); c.Open != "" {
				sentence = "The document is removed."
			}
			if err != nil {
				return record[changedJSON]{}, err
			}
			return changed(r, op, sentence), nil
		}, nil
	})
	cmd.Flags().BoolVar(&force, "force", false, forceHelp)
	return cmd
}

const forceHelp = "lift opdeck's guards for ended operations and for a lock that the service does not tell"

// onDocument is the question of a write on a document of an operation; item names it. It names the guards that force
// lifts.
func onDocument(args []string, item string, force bool) asked {
	w := asked{object: act.Object{Item: "document " + item, ID: args[0], Kind: "operation"}, typed: args[1]}
	if force {
		w.risk = "--force sends it even if the operation has ended, and even if the service does not say whether the " +
			"document is locked."
	}
	return w
}

// changedJSON is an operation after a write; null if the write is proven done but the operation could not be read.
type changedJSON struct {
	Done bool           `json:"done,omitempty"`
	Item *api.Operation `json:"item"`
}

// changed is the operation after a write: completely as JSON, and a sentence with its documents for people. An empty
// one could not be read.
func changed(r *root, op api.Operation, sentence string) record[changedJSON] {
	if op.OPID == "" {
		return value(changedJSON{Done: true}).says("%s The operation could not be read again to show it.", sentence)
	}
	out := value(changedJSON{Item: &op})
	if r.output == "table" {
		r.say("%s", sentence)
		out.table = documentTable(present.Options{Zone: r.zone}, op.Documents).none("The operation has no documents now.")
	}
	return out
}

func documentRestoreCommand(r *root) *cobra.Command {
	return attachingCommand(r, "Restored.", new(string))
}

func documentAttachCommand(r *root) *cobra.Command {
	var name string
	cmd := attachingCommand(r, "Attached.", &name)
	cmd.Flags().StringVar(&name, "name", "", "name of the document there")
	return cmd
}

// attachingCommand is attach and restore, which send the same call; name is the document's name there.
func attachingCommand(r *root, sentence string, name *string) *cobra.Command {
	return writes(r, &cobra.Command{}, func(_ context.Context, a *app.App, args []string) (asked, sending[changedJSON],
		error) {
		return onDocument(args, args[1], false), func(ctx context.Context) (record[changedJSON], error) {
			op, err := endpoint.Do(ctx, a.Client, endpoint.AttachDocument, endpoint.Attachment{OPID: args[0], GUID: args[1],
				Name: *name})
			if err != nil {
				return record[changedJSON]{}, err
			}
			return changed(r, op, sentence), nil
		}, nil
	})
}

// uploading holds the flags that describe a file.
type uploading struct{ kind, info, name string }

func (u *uploading) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&u.name, "name", "", nameHelp)
	cmd.Flags().StringVar(&u.kind, "type", "", "document type, for example INVOICE")
	cmd.Flags().StringVar(&u.info, "info", "", "free description")
	return cmd
}

func documentUploadCommand(r *root) *cobra.Command {
	var cuid string
	var file uploading
	cmd := file.flags(&cobra.Command{})
	cmd.Flags().StringVar(&cuid, "customer", "", "id of the customer who owns the file")
	return writes(r, cmd, func(_ context.Context, a *app.App, args []string) (asked, sending[sent[api.CustomerFile]],
		error) {
		if cuid == "" {
			return asked{}, nil, usage("--customer is required: the customer who owns the file")
		}
		u, err := readUpload(r, args[0], file)
		u.CUID = cuid
		w := asked{object: act.Object{Item: u.FileName, ID: cuid, Kind: "customer"}, typed: cuid,
			facts: askedFile(args[0], u).Facts()}
		return w, func(ctx context.Context) (record[sent[api.CustomerFile]], error) {
			f, err := endpoint.Do(ctx, a.Client, endpoint.UploadDocument, u)
			out := line(asSent(f.Raw, f), f.ID.Line(64)) // without Raw only a read proved the upload
			return out.says("Uploaded. opdeck document attach OPID %s links it to an operation.", f.ID.Line(64)), err
		}, err
	})
}

// askedFile is a file to upload, in a question.
func askedFile(path string, u api.Upload) present.AskedFile {
	return present.AskedFile{Path: path, Name: u.FileName, Holds: format.Size(int64(len(u.Content))) + ", " +
		api.MediaType(u.FileName, u.Content), Type: u.Type,
		Info: u.Info}
}

const nameHelp = "name of the file there; required with -"

// readUpload reads the file named by an argument, or standard input for -. The flag for the name overrides the file's
// own.
func readUpload(r *root, arg string, given uploading) (u api.Upload, err error) {
	switch {
	case arg == "-" && given.name == "":
		return u, usage("--name is required with -")
	case arg == "-":
		u, err = app.ReadUploadFrom(r.env.In, given.name)
	default:
		if u, err = app.ReadUpload(arg); given.name != "" {
			u.FileName = filepath.Base(given.name)
		}
	}
	u.Type, u.Info = strings.ToUpper(given.kind), given.info
	return u, err
}

func documentReplaceCommand(r *root) *cobra.Command {
	var force bool
	var file uploading
	cmd := file.flags(&cobra.Command{Long: "Type and description stay those of the replaced document, unless --type or " +
		"--info changes them; --info '' clears it."})
	cmd.Flags().BoolVar(&force, "force", false, forceHelp)
	return writes(r, cmd, func(ctx context.Context, a *app.App, args []string) (w asked, _ sending[replace.Job],
		err error) {
		u, err := readUpload(r, args[2], file)
		op, w := api.Operation{OPID: untrusted.Text(args[0])}, onDocument(args, args[1], force)
		if err == nil && !r.dryRun {
			op, err = endpoint.Do(ctx, a.Client, endpoint.GetOperation, args[0])
			old, _ := op.Document(args[1]) // the plan refuses a missing one
			if !cmd.Flags().Changed("type") {
				u.Type = string(old.DocType)
			}
			if !cmd.Flags().Changed("info") {
				u.Info = string(old.Info)
			}
			w.facts = append(present.AskedReplace(present.Options{}, old, askedFile(args[2], u)),
				present.AskedOperation(args[0], op)...)
		}
		return w, func(ctx context.Context) (record[replace.Job], error) {
			return replaceDocument(r, ctx, a, op, args[1], u, force)
		}, err
	})
}

func replaceDocument(r *root, ctx context.Context, a *app.App, op api.Operation, guid string, u api.Upload,
	force bool) (record[replace.Job], error) {
	opid := string(op.OPID)
	if r.dryRun {
		u.CUID = "CUSTOMER-OF-THE-OPERATION"
		_, _ = endpoint.Do(ctx, a.Client, endpoint.RemoveDocument, api.RemoveDocument{OPID: opid, GUID: guid})
		_, _ = endpoint.Do(ctx, a.Client, endpoint.UploadDocument, u)
		_, err := endpoint.Do(ctx, a.Client, endpoint.AttachDocument, endpoint.Attachment{OPID: opid, GUID: "NEW-DOCUMENT",
			Name: u.FileName})
		return record[replace.Job]{}, err
	}
	u.CUID = string(op.Customer.CUID)
	job, err := a.Jobs.Plan(ctx, op, guid, u, force)
	if err != nil {
		return record[replace.Job]{}, err
	}
	return runJob(r, ctx, a, job, a.Jobs.Run)
}

// runJob runs the steps of a job and returns its state.
func runJob(r *root, ctx context.Context, a *app.App, job replace.Job,
	run func(context.Context, replace.Job) (replace.Job, error)) (record[replace.Job], error) {
	job, err := run(ctx, job)
	switch {
	case err != nil:
		r.say("The job %s stopped at step %q. Resume it with opdeck document resume %s.", job.ID, string(job.Step), job.ID)
		switch decide := a.Jobs.Undecided(job); {
		case decide && job.Step == replace.Uploading:
			r.say("Use --use FILEID to take one of the customer's files, --upload-again to upload the file once more, or " +
				"--abandon to restore the old document.")
		case decide:
			r.say("Use --again to send the call once more, or --abandon to abandon the job.")
		}
	case job.Step == replace.Abandoned:
		return value(job).says("Abandoned: the old document %s is attached again.", job.OldGUID), nil
	}
	return line(job, job.NewGUID).says("Replaced: %s is now %s.", job.OldGUID, job.NewGUID), err
}

func documentResumeCommand(r *root) *cobra.Command {
	var abandon, again, upload bool
	var use string
	cmd := &cobra.Command{
		Long: "Without JOB it lists the unfinished replacements. With JOB it checks the current step and resumes. opdeck " +
			"never repeats a step with an unknown outcome by itself: use --again for a removal or an attachment, " +
			"--upload-again for the file, both only after [writes] late_after; --use takes one of the customer's files as " +
			"the uploaded one."}
	lists(cmd)
	unfinished := also[[]replace.Job, replace.Job](r, cmd, "no JOB")
	out := also[replace.Job, replace.Job](r, cmd, "")
	cmd.RunE = r.asks(func(ctx context.Context, a *app.App, args []string) (asked, func(context.Context) error, error) {
		if len(args) == 0 {
			return asked{}, func(ctx context.Context) error {
				jobs, err := a.UnfinishedJobs(ctx, "")
				if err != nil {
					return err
				}
				v := list(jobs, jobs, listed(r.options(ctx, a), present.JobColumns, jobs).none("No unfinished replacements."))
				if len(jobs) > 0 {
					v = v.says("Resume one with opdeck document resume JOB.")
				}
				return unfinished(v)
			}, nil
		}
		job, err := a.Jobs.Store.Job(ctx, args[0])
		if err != nil {
			return asked{}, nil, &api.Error{Kind: api.NotFound, Public: "No such job.",
				Hint: "opdeck document resume lists them.", Err: err}
		}
		run := a.Jobs.Run
		switch uploading := job.Step == replace.Uploading; {
		case abandon:
			run = a.Jobs.Abandon
		case use != "":
			run = func(ctx context.Context, j replace.Job) (replace.Job, error) { return a.Jobs.Use(ctx, j, use) }
		case again && uploading:
			return asked{}, nil, usage("the upload is open: use --upload-again to upload the file once more, or --use " +
				"FILEID to take an existing one")
		case upload && !uploading:
			return asked{}, nil, usage("the upload is not open; the job is at step %q", string(job.Step))
		case again || upload:
			run = a.Jobs.Again
		}
		return asked{object: act.Object{Item: job.OldName, ID: job.OPID, Kind: "operation"}, typed: job.OldGUID,
				facts: present.AskedResume(job)}, func(ctx context.Context) error {
				v, err := runJob(r, ctx, a, job, run)
				if err != nil {
					return err
				}
				return out(v)
			}, nil
	})
	cmd.Flags().BoolVar(&abandon, "abandon", false, "abandon the job and restore the old document")
	cmd.Flags().BoolVar(&again, "again", false, "repeat the removal or attachment that was not confirmed in time")
	cmd.Flags().BoolVar(&upload, "upload-again", false, "upload the missing file once more")
	cmd.Flags().StringVar(&use, "use", "", "id of the customer's file that came from the upload")
	cmd.MarkFlagsMutuallyExclusive("abandon", "again", "upload-again", "use")
	return cmd
}

func documentDownloadCommand(r *root) *cobra.Command {
	return &cobra.Command{RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		toFile := len(args) > 2 && args[2] != "-"
		if err := r.notToTerminal("A document"); err != nil && !toFile {
			return err
		}
		return r.toFile(args[2:], func(w io.Writer) error {
			n, err := endpoint.Do(ctx, a.Client, endpoint.DownloadDocument, endpoint.Download{CUID: args[0], GUID: args[1],
				To: w})
			if err == nil && toFile {
				r.say("%s written to %s.", format.Plural(int(n), "byte", "bytes"), args[2])
			}
			return err
		})
	})}
}
