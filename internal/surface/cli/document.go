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

var documentCommands = commands{
	act.DocumentList: documentListCommand, act.DocumentRemove: documentRemoveCommand,
	act.DocumentRestore: documentRestoreCommand, act.DocumentAttach: documentAttachCommand,
	act.DocumentUpload: documentUploadCommand, act.DocumentReplace: documentReplaceCommand,
	act.DocumentResume: documentResumeCommand, act.DocumentDownload: documentDownloadCommand,
}

// documentsJSON holds the documents of an operation.
type documentsJSON struct {
	Items []api.Document `json:"items" null:"unreported"` // null: not reported or unreadable
	OPID  string         `json:"opid"`
}

func documentListCommand(r *root) *cobra.Command {
	return printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string,
		out many[documentsJSON, api.Document]) error {
		op, err := endpoint.Do(ctx, a.Client, endpoint.GetOperation, args[0])
		if err != nil {
			return err
		}
		none := "The operation has no documents; opdeck document attach " + args[0] + " DOCID adds one."
		if !op.DocumentsReported() {
			none = "The answer has no readable list of documents, so opdeck does not know whether there are any. opdeck " +
				"operation get " + args[0] + " -o json shows it."
		}
		if n := op.UnreadDocuments; n > 0 && op.DocumentsReported() {
			r.say("%s of the answer cannot be read; opdeck operation get %s -o json shows the raw answer.",
				format.Plural(n, "document", "documents"), args[0])
		}
		return out.print(documentsJSON{op.Documents, string(op.OPID)}, op.Documents,
			documentTable(r.options(ctx, a), op.Documents).none(none))
	})
}

func documentTable(o present.Options, docs []api.Document) *table {
	return fieldTable(o, field.Documents, docs, "id", "name", "type", "media", "size", "locked", "created", "description")
}

func documentRemoveCommand(r *root) *cobra.Command {
	var force bool
	cmd := &cobra.Command{Long: "Removes a document from an operation. This removes the link only; document restore " +
		"attaches\n" +
		"it again. opdeck never sends a document that the service calls locked. --force lifts two guards of\n" +
		"opdeck's own: for operations that have ended, and for a lock that the service does not tell. The\n" +
		"service may still refuse."}
	writes(r, cmd, func(_ context.Context, a *app.App, args []string, out one[changedJSON]) (asked, error) {
		w := onDocument(args, args[1], func(ctx context.Context) error {
			op, err := endpoint.Do(ctx, a.Client, endpoint.RemoveDocument, api.RemoveDocument{OPID: args[0], GUID: args[1],
				Force: force})
			if err != nil {
				return err
			}
			sentence := "Removed. To restore it: opdeck document restore " + args[0] + " " + args[1]
			if c, _ := evidence.Of(ctx).ByRead(args[0], args[1]); c.Open != "" {
				sentence = "The document is removed."
			}
			return changed(r, op, sentence, out)
		})
		w.risk = forced(force)
		return w, nil
	})
	cmd.Flags().BoolVar(&force, "force", false, forceHelp)
	return cmd
}

const forceHelp = "lift opdeck's guards for ended operations and for a lock that the service does not tell"

// forced names in a question the guards that --force lifts.
func forced(force bool) string {
	if !force {
		return ""
	}
	return "--force sends it even if the operation has ended, and even if the service does not say whether the document " +
		"is locked."
}

// onDocument is a write on a document of an operation; item names it in the question.
func onDocument(args []string, item string, send func(context.Context) error) asked {
	return asked{object: act.Object{Item: "document " + item, ID: args[0], Kind: "operation"}, typed: args[1], send: send}
}

// changedJSON is an operation after a write; null if the write is proven done but the operation could not be read.
type changedJSON struct {
	Done bool           `json:"done,omitempty"`
	Item *api.Operation `json:"item"`
}

// changed prints the operation after a write: completely as JSON, one sentence as a table. An empty one could not be
// read.
func changed(r *root, op api.Operation, sentence string, out one[changedJSON]) error {
	if op.OPID == "" {
		return out.report(changedJSON{Done: true}, "%s The operation could not be read again to show it.", sentence)
	}
	if r.output != "table" {
		return out.json(changedJSON{Item: &op})
	}
	r.say("%s", sentence)
	if len(op.Documents) == 0 {
		r.say("The operation has no documents now.")
		return nil
	}
	return r.table(r.env.Out, documentTable(present.Options{Zone: r.zone}, op.Documents))
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
	return writes(r, &cobra.Command{}, func(_ context.Context, a *app.App, args []string, out one[changedJSON]) (asked,
		error) {
		return onDocument(args, args[1], func(ctx context.Context) error {
			op, err := endpoint.Do(ctx, a.Client, endpoint.AttachDocument, endpoint.Attachment{OPID: args[0], GUID: args[1],
				Name: *name})
			if err != nil {
				return err
			}
			return changed(r, op, sentence, out)
		}), nil
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
	return writes(r, cmd, func(_ context.Context, a *app.App, args []string, out one[sent[api.CustomerFile]]) (asked,
		error) {
		if cuid == "" {
			return asked{}, usage("--customer is required: the customer who owns the file")
		}
		u, err := readUpload(r, args[0], file)
		if err != nil {
			return asked{}, err
		}
		u.CUID = cuid
		return asked{object: act.Object{Item: u.FileName, ID: cuid, Kind: "customer"}, typed: cuid,
			facts: askedFile(args[0], u).Facts(),
			send: func(ctx context.Context) error {
				f, err := endpoint.Do(ctx, a.Client, endpoint.UploadDocument, u)
				if err != nil {
					return err
				}
				if r.output == "table" {
					r.say("Uploaded. opdeck document attach OPID %s links it to an operation.", f.ID.Line(64))
				}
				return out.data(asSent(f.Raw, f), f.ID.Line(64)) // without Raw only a read proved the upload
			}}, nil
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
		"--info changes them;\n" +
		"--info '' clears it."})
	cmd.Flags().BoolVar(&force, "force", false, forceHelp)
	return writes(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[replace.Job]) (asked, error) {
		u, err := readUpload(r, args[2], file)
		if err != nil || r.dryRun {
			return onDocument(args, args[1], func(ctx context.Context) error {
				return replaceDocument(r, ctx, a, api.Operation{OPID: untrusted.Text(args[0])}, args[1], u, force, out)
			}), err
		}
		op, err := endpoint.Do(ctx, a.Client, endpoint.GetOperation, args[0])
		if err != nil {
			return asked{}, err
		}
		old, _ := op.Document(args[1]) // the plan refuses a missing one
		if !cmd.Flags().Changed("type") {
			u.Type = string(old.DocType)
		}
		if !cmd.Flags().Changed("info") {
			u.Info = string(old.Info)
		}
		w := onDocument(args, args[1], func(ctx context.Context) error {
			return replaceDocument(r, ctx, a, op, args[1], u,
				force, out)
		})
		w.risk = forced(force)
		w.facts = append(present.AskedReplace(present.Options{}, old, askedFile(args[2], u)),
			present.AskedOperation(args[0], op)...)
		return w, nil
	})
}

func replaceDocument(r *root, ctx context.Context, a *app.App, op api.Operation, guid string, u api.Upload, force bool,
	out one[replace.Job]) error {
	opid := string(op.OPID)
	if r.dryRun {
		u.CUID = "CUSTOMER-OF-THE-OPERATION"
		_, _ = endpoint.Do(ctx, a.Client, endpoint.RemoveDocument, api.RemoveDocument{OPID: opid, GUID: guid})
		_, _ = endpoint.Do(ctx, a.Client, endpoint.UploadDocument, u)
		_, err := endpoint.Do(ctx, a.Client, endpoint.AttachDocument, endpoint.Attachment{OPID: opid, GUID: "NEW-DOCUMENT",
			Name: u.FileName})
		return err
	}
	u.CUID = string(op.Customer.CUID)
	job, err := a.Jobs.Plan(ctx, op, guid, u, force)
	if err != nil {
		return err
	}
	return runJob(r, ctx, a, job, a.Jobs.Run, out)
}

// runJob runs the steps of a job and prints its state.
func runJob(r *root, ctx context.Context, a *app.App, job replace.Job,
	run func(context.Context, replace.Job) (replace.Job, error), out one[replace.Job]) error {
	job, err := run(ctx, job)
	if err != nil {
		r.say("The job %s stopped at step %q. Resume it with opdeck document resume %s.", job.ID, string(job.Step), job.ID)
		switch decide := a.Jobs.Undecided(job); {
		case decide && job.Step == replace.Uploading:
			r.say("Use --use FILEID to take one of the customer's files, --upload-again to upload the file once more, or " +
				"--abandon to restore the old document.")
		case decide:
			r.say("Use --again to send the call once more, or --abandon to abandon the job.")
		}
		return err
	}
	if job.Step == replace.Abandoned {
		return out.report(job, "Abandoned: the old document %s is attached again.", job.OldGUID)
	}
	if r.output == "table" {
		r.say("Replaced: %s is now %s.", job.OldGUID, job.NewGUID)
	}
	return out.data(job, job.NewGUID)
}

func documentResumeCommand(r *root) *cobra.Command {
	var abandon, again, upload bool
	var use string
	cmd := &cobra.Command{
		Long: "Without JOB it lists the unfinished replacements. With JOB it checks the current step and\n" +
			"resumes. opdeck never repeats a step with an unknown outcome by itself: use --again for a\n" +
			"removal or an attachment, --upload-again for the file, both only after [writes] late_after;\n" +
			"--use takes one of the customer's files as the uploaded one."}
	list := alsoLists[[]replace.Job, replace.Job](r, cmd, "no JOB")
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[replace.Job]) (asked, error) {
		if len(args) == 0 {
			return asked{send: func(ctx context.Context) error { return listJobs(ctx, a, list) }}, nil
		}
		job, err := a.Jobs.Store.Job(ctx, args[0])
		if err != nil {
			return asked{}, &api.Error{Kind: api.NotFound, Public: "No such job.",
				Hint: "opdeck document resume lists them.", Err: err}
		}
		run := a.Jobs.Run
		switch uploading := job.Step == replace.Uploading; {
		case abandon:
			run = a.Jobs.Abandon
		case use != "":
			run = func(ctx context.Context, j replace.Job) (replace.Job, error) { return a.Jobs.Use(ctx, j, use) }
		case again && uploading:
			return asked{}, usage("the upload is open: use --upload-again to upload the file once more, or --use FILEID to " +
				"take an existing one")
		case upload && !uploading:
			return asked{}, usage("the upload is not open; the job is at step %q", string(job.Step))
		case again || upload:
			run = a.Jobs.Again
		}
		return asked{object: act.Object{Item: job.OldName, ID: job.OPID, Kind: "operation"}, typed: job.OldGUID,
			facts: present.AskedResume(job),
			send:  func(ctx context.Context) error { return runJob(r, ctx, a, job, run, out) }}, nil
	})
	cmd.Flags().BoolVar(&abandon, "abandon", false, "abandon the job and restore the old document")
	cmd.Flags().BoolVar(&again, "again", false, "repeat the removal or attachment that was not confirmed in time")
	cmd.Flags().BoolVar(&upload, "upload-again", false, "upload the missing file once more")
	cmd.Flags().StringVar(&use, "use", "", "id of the customer's file that came from the upload")
	cmd.MarkFlagsMutuallyExclusive("abandon", "again", "upload-again", "use")
	return cmd
}

func listJobs(ctx context.Context, a *app.App, out listOf[replace.Job]) error {
	jobs, err := a.UnfinishedJobs(ctx, "")
	if err != nil {
		return err
	}
	err = out.print(jobs, jobs, listed(out.r.options(ctx, a), present.JobColumns,
		jobs).none("No unfinished replacements."))
	if err == nil && len(jobs) > 0 && out.r.output == "table" {
		out.r.say("Resume one with opdeck document resume JOB.")
	}
	return err
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
