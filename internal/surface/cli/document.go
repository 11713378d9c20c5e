package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/replace"
)

func (r *root) documentCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "document", Aliases: []string{"doc"}, Short: "Documents of operations: list, remove, put back, replace"}
	cmd.AddCommand(r.documentList(), r.documentRemove(), r.documentRestore(), r.documentAttach(), r.documentUpload(),
		r.documentReplace(), r.documentResume(), r.documentDownload())
	return cmd
}

func (r *root) documentList() *cobra.Command {
	return lists(&cobra.Command{Use: "list OPID", Short: "The documents of an operation", Args: cobra.ExactArgs(1),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			op, err := a.Client.Operation(ctx, args[0])
			if err != nil {
				return err
			}
			return r.printDocuments(op)
		})})
}

func (r *root) printDocuments(op api.Operation) error {
	t := &table{head: []string{"GUID", "NAME", "TYPE", "MEDIA TYPE", "SIZE", "LOCK", "CREATED", "INFO"}, right: map[int]bool{4: true}}
	for _, d := range op.Documents {
		lock := ""
		if d.IsLock {
			lock = "locked"
		}
		t.add(d.GUID.Line(64), d.FileName.Line(60), d.DocType.Line(30), d.MIME.Line(40), strconv.FormatInt(d.Size, 10), lock, d.CreateAt.Raw.Line(30), d.Info.Line(60))
	}
	docs := op.Documents
	if docs == nil {
		docs = []api.Document{}
	}
	return r.list(t, map[string]any{"opid": string(op.OPID), "items": docs}, toAny(docs))
}

func (r *root) documentRemove() *cobra.Command {
	var force bool
	var reason string
	cmd := r.writeFlags(&cobra.Command{Use: "remove OPID DOCID", Short: "Take a document off an operation (it can be put back)", Args: cobra.ExactArgs(2),
		Long: "Takes a document off an operation. Only the link goes; document restore puts it back.\n" +
			"A locked document is never sent. --force lifts opdeck's own guard for operations\n" +
			"that have ended; the service may still refuse.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			ask := fmt.Sprintf("Remove document %s from operation %s?", args[1], args[0])
			if err := r.confirm(ctx, ask, args[1]); err != nil {
				return err
			}
			return r.write(ctx, func(ctx context.Context) error {
				op, err := a.Client.RemoveDocument(ctx, api.RemoveDocument{OPID: args[0], GUID: args[1], Force: force, Reason: reason})
				if err != nil {
					return err
				}
				return r.changed(op, "Removed. opdeck document restore "+args[0]+" "+args[1]+" puts it back.")
			})
		})})
	cmd.Flags().BoolVar(&force, "force", false, "lift opdeck's own guard for end states, never a lock")
	cmd.Flags().StringVar(&reason, "reason", "", "kept in the audit trail")
	return cmd
}

// changed prints the operation that came back: all of it as JSON, one sentence
// as a table. An empty one means that the write is proven done and the operation
// could not be read.
func (r *root) changed(op api.Operation, sentence string) error {
	if op.OPID == "" {
		r.say("%s The operation could not be read to show it.", sentence)
		if r.output == "json" || r.output == "jsonl" {
			return r.printLine(map[string]any{"item": nil, "done": true})
		}
		return nil
	}
	if r.output == "json" || r.output == "jsonl" {
		return r.printItem(op)
	}
	r.say("%s", sentence)
	return r.printDocuments(op)
}

func (r *root) printItem(op api.Operation) error {
	if r.output == "jsonl" {
		return r.printLine(map[string]any{"item": op})
	}
	return r.printJSON(map[string]any{"item": op})
}

func (r *root) documentRestore() *cobra.Command {
	return r.writeFlags(&cobra.Command{Use: "restore OPID DOCID", Short: "Put a removed document back", Args: cobra.ExactArgs(2),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			return r.attach(ctx, a, args[0], args[1], "", "Put back.")
		})})
}

func (r *root) documentAttach() *cobra.Command {
	var name string
	cmd := r.writeFlags(&cobra.Command{Use: "attach OPID DOCID", Short: "Attach an uploaded document to an operation", Args: cobra.ExactArgs(2),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			return r.attach(ctx, a, args[0], args[1], name, "Attached.")
		})})
	cmd.Flags().StringVar(&name, "name", "", "what the document is called there")
	return cmd
}

func (r *root) attach(ctx context.Context, a *app.App, opid, guid, name, sentence string) error {
	return r.write(ctx, func(ctx context.Context) error {
		op, err := a.Client.AttachDocument(ctx, opid, guid, name)
		if err != nil {
			return err
		}
		return r.changed(op, sentence)
	})
}

func (r *root) documentUpload() *cobra.Command {
	var cuid, kind, info, name string
	cmd := r.writeFlags(&cobra.Command{Use: "upload FILE", Short: "Put a file into a customer's store (- is standard input)", Args: cobra.ExactArgs(1),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if cuid == "" {
				return usage("--customer is needed: whose file is it?")
			}
			u, err := r.upload(args[0], name)
			if err != nil {
				return err
			}
			u.CUID, u.Type, u.Info = cuid, kind, info
			return r.write(ctx, func(ctx context.Context) error {
				f, err := a.Client.UploadDocument(ctx, u)
				if err != nil {
					return err
				}
				if r.output != "table" {
					raw := any(f.Raw)
					if len(f.Raw) == 0 { // a read showed that it is there
						raw = map[string]any{"id": f.ID, "name": f.FileName, "size": f.Size}
					}
					return r.printJSON(raw)
				}
				r.say("Uploaded. opdeck document attach OPID %s links it to an operation.", f.ID.Line(64))
				_, err = fmt.Fprintln(r.env.Out, f.ID.Line(64))
				return err
			})
		})})
	cmd.Flags().StringVar(&cuid, "customer", "", "cuid of the customer whose file it is")
	cmd.Flags().StringVar(&name, "name", "", nameHelp)
	cmd.Flags().StringVar(&kind, "type", "", "document type, for example INVOICE")
	cmd.Flags().StringVar(&info, "info", "", "free description")
	return cmd
}

const nameHelp = "what the file is called there; needed with -"

// upload reads the file that an argument names, or standard input for -. name is
// what it is called there; "" leaves a file its own.
func (r *root) upload(arg, name string) (api.Upload, error) {
	if arg == "-" {
		if name == "" {
			return api.Upload{}, usage("--name is needed with -: what is the file called?")
		}
		return app.ReadUploadFrom(r.env.In, name)
	}
	u, err := app.ReadUpload(arg)
	if err == nil && name != "" {
		u.FileName = filepath.Base(name)
	}
	return u, err
}

// askable refuses to ask where the answer would be part of the content.
func (r *root) askable(arg string) error {
	if arg == "-" && !r.yes && !r.dryRun {
		return usage("the content comes from standard input, so nothing can be asked: give --yes to confirm, or --dry-run")
	}
	return nil
}

func (r *root) documentReplace() *cobra.Command {
	var force bool
	var kind, info, name string
	cmd := r.writeFlags(&cobra.Command{Use: "replace OPID DOCID FILE", Short: "Replace a document by a file (- is standard input): remove, upload, attach as one job", Args: cobra.ExactArgs(3),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if err := r.askable(args[2]); err != nil {
				return err
			}
			u, err := r.upload(args[2], name)
			if err != nil {
				return err
			}
			u.Type, u.Info = kind, info
			if r.dryRun {
				return r.dryReplace(ctx, a, args[0], args[1], u)
			}
			if err := r.confirm(ctx, fmt.Sprintf("Replace document %s of operation %s by %s?", args[1], args[0], u.FileName), args[1]); err != nil {
				return err
			}
			op, err := a.Client.Operation(ctx, args[0])
			if err != nil {
				return err
			}
			u.CUID = string(op.Customer.CUID)
			job, err := a.Jobs.Plan(ctx, op, args[1], u, force)
			if err != nil {
				return err
			}
			return r.runJob(ctx, job, a.Jobs.Run)
		})})
	cmd.Flags().BoolVar(&force, "force", false, "lift opdeck's own guard for end states, never a lock")
	cmd.Flags().StringVar(&name, "name", "", nameHelp)
	cmd.Flags().StringVar(&kind, "type", "", "document type, for example INVOICE")
	cmd.Flags().StringVar(&info, "info", "", "free description")
	return cmd
}

func (r *root) dryReplace(ctx context.Context, a *app.App, opid, guid string, u api.Upload) error {
	u.CUID = "CUSTOMER-OF-THE-OPERATION"
	return r.write(ctx, func(ctx context.Context) error {
		_, _ = a.Client.RemoveDocument(ctx, api.RemoveDocument{OPID: opid, GUID: guid})
		_, _ = a.Client.UploadDocument(ctx, u)
		_, err := a.Client.AttachDocument(ctx, opid, "NEW-DOCUMENT", u.FileName)
		return err
	})
}

// runJob takes steps and says where the job stands.
func (r *root) runJob(ctx context.Context, job replace.Job, run func(context.Context, replace.Job) (replace.Job, error)) error {
	job, err := run(ctx, job)
	if err != nil {
		r.say("The job %s stands at %q. opdeck document resume %s goes on with it.", job.ID, string(job.Step), job.ID)
		return err
	}
	if r.output != "table" {
		return r.printJSON(job)
	}
	if job.Step == replace.Abandoned {
		r.say("Given up: the operation holds the old document %s.", job.OldGUID)
		return nil
	}
	r.say("Replaced: %s is now %s.", job.OldGUID, job.NewGUID)
	_, err = fmt.Fprintln(r.env.Out, job.NewGUID)
	return err
}

func (r *root) documentResume() *cobra.Command {
	var abandon, again, upload bool
	var use string
	cmd := lists(&cobra.Command{Use: "resume [JOB]", Short: "List unfinished replacements, or go on with one", Args: cobra.MaximumNArgs(1),
		Long: "Without JOB it lists the replacements that stand still. With JOB it looks what became of the\n" +
			"step under way and goes on. A step whose outcome is not known is never sent again by itself:\n" +
			"--again does that for a removal or an attachment, --upload-again for the file, both only after\n" +
			"[writes] late_after; --use takes a file of the customer as the uploaded one.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if len(args) == 0 {
				return r.listJobs(ctx, a)
			}
			job, err := a.Jobs.Store.Job(ctx, args[0])
			if err != nil {
				return &api.Error{Kind: api.NotFound, Public: "There is no such job.", Hint: "opdeck document resume lists them.", Err: err}
			}
			switch uploading := job.Step == replace.Uploading; {
			case abandon:
				return r.runJob(ctx, job, a.Jobs.Abandon)
			case use != "":
				return r.runJob(ctx, job, func(ctx context.Context, j replace.Job) (replace.Job, error) { return a.Jobs.Use(ctx, j, use) })
			case again && uploading:
				return usage("the file is what is open: --upload-again uploads it once more, --use FILEID takes one that is there")
			case upload && !uploading:
				return usage("the upload is not what is open; the job stands at %q", string(job.Step))
			case again || upload:
				return r.runJob(ctx, job, a.Jobs.Again)
			}
			return r.runJob(ctx, job, a.Jobs.Run)
		})})
	cmd.Flags().BoolVar(&abandon, "abandon", false, "give the job up and put the old document back")
	cmd.Flags().BoolVar(&again, "again", false, "send the removal or attachment once more that was not seen in time")
	cmd.Flags().BoolVar(&upload, "upload-again", false, "upload the file once more that was not found")
	cmd.Flags().StringVar(&use, "use", "", "id of the customer's file that the upload became")
	cmd.MarkFlagsMutuallyExclusive("abandon", "again", "upload-again", "use")
	return cmd
}

func (r *root) listJobs(ctx context.Context, a *app.App) error {
	jobs, err := a.UnfinishedJobs(ctx, "")
	if err != nil {
		return err
	}
	t := &table{head: []string{"JOB", "OPERATION", "OLD DOCUMENT", "NEW FILE", "STEP", "PROBLEM"}}
	for _, j := range jobs {
		t.add(j.ID, j.OPID, j.OldGUID, safeText(j.FileName), string(j.Step), safeText(j.Problem))
	}
	if jobs == nil {
		jobs = []replace.Job{}
	}
	return r.list(t, jobs, toAny(jobs))
}

func (r *root) documentDownload() *cobra.Command {
	return &cobra.Command{Use: "download CUID DOCID FILE", Short: "Save a customer's document to a file (- is standard output)", Args: cobra.ExactArgs(3),
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if err := api.Need(ctx, "download document", api.MayExport); err != nil {
				return err
			}
			if args[2] == "-" {
				_, err := a.Client.DownloadDocument(ctx, args[0], args[1], r.env.Out)
				return err
			}
			f, err := os.OpenFile(args[2], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return &api.Error{Kind: api.Usage, Public: "The file cannot be made, or is there already.", Err: err}
			}
			n, err := a.Client.DownloadDocument(ctx, args[0], args[1], f)
			if closeErr := f.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				_ = os.Remove(args[2])
				return err
			}
			r.say("%d bytes.", n)
			return nil
		})}
}
