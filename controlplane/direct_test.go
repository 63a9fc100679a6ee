package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// patience bounds what should come at once.
const patience = 20 * time.Second

// asked is a client of a server with one handler.
func asked(t *testing.T, handler http.HandlerFunc) http.RoundTripper {
	t.Helper()
	server := newDirectServer()
	server.serve(handler)
	transport, err := server.shownBy(nil)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func ask(t *testing.T, ctx context.Context, transport http.RoundTripper) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://127.0.0.1:1/api?limit=1", strings.NewReader("question"))
	if err != nil {
		t.Fatal(err)
	}
	return transport.RoundTrip(request)
}

func TestADirectRequestIsAnsweredAsOverASocket(t *testing.T) {
	transport := asked(t, func(w http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		w.Header().Set("Kind", r.Method+" "+r.RequestURI+" "+r.URL.Query().Get("limit"))
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("Late", "after the status")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "answer to "+string(question))
	})
	response, err := ask(t, context.Background(), transport)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "answer to question" {
		t.Errorf("read %q, %v", body, err)
	}
	if response.StatusCode != http.StatusAccepted || response.Header.Get("Kind") != "POST /api?limit=1 1" || response.Header.Get("Late") != "" {
		t.Errorf("got %s with %v", response.Status, response.Header)
	}
}

func TestWhatIsWrittenCanBeReadBeforeTheAnswerEnds(t *testing.T) {
	next := make(chan string)
	transport := asked(t, func(w http.ResponseWriter, r *http.Request) {
		flusher, ok := responsewriter.WrapForHTTP1Or2(&decorated{w}).(http.Flusher)
		if !ok {
			t.Error("the API server would not stream this")
			return
		}
		flusher.Flush()
		for change := range next {
			_, _ = io.WriteString(w, change)
		}
	})
	response, err := ask(t, context.Background(), transport)
	if err != nil {
		t.Fatal(err)
	}
	into := make([]byte, 100)
	for _, change := range []string{"one", "two"} {
		next <- change
		if count, err := response.Body.Read(into); err != nil || string(into[:count]) != change {
			t.Errorf("read %q, %v instead of %q", into[:count], err, change)
		}
	}
	close(next)
	if _, err := response.Body.Read(into); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

type decorated struct{ http.ResponseWriter }

func (d *decorated) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func TestTheServerHearsOfItWhenNobodyReadsAnyMore(t *testing.T) {
	for name, leave := range map[string]func(*http.Response, context.CancelFunc){
		"closed":    func(response *http.Response, _ context.CancelFunc) { response.Body.Close() },
		"cancelled": func(_ *http.Response, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan error, 1)
			transport := asked(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
				<-r.Context().Done()
				_, err := io.WriteString(w, "too late")
				heard <- err
			})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			response, err := ask(t, ctx, transport)
			if err != nil {
				t.Fatal(err)
			}
			leave(response, cancel)
			select {
			case err := <-heard:
				if err == nil {
					t.Error("it could still write")
				}
			case <-time.After(patience):
				t.Fatal("it never heard")
			}
			if _, err := response.Body.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("an answer that was left ends with %v", err)
			}
		})
	}
}

func TestAClientThatGivesUpBeforeTheAnswerGetsItsOwnError(t *testing.T) {
	heard := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	transport := asked(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		close(heard)
	})
	if _, err := ask(t, ctx, transport); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-heard:
	case <-time.After(patience):
		t.Error("the server goes on")
	}
	waiting, err := newDirectServer().shownBy(nil) // serves never
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, ctx, waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a server that does not serve yet", err)
	}
}

func TestABrokenAnswerIsNoWholeOne(t *testing.T) {
	if _, err := ask(t, context.Background(), asked(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })); err == nil {
		t.Error("no answer at all is no error")
	}
	response, err := ask(t, context.Background(), asked(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); string(body) != "half" || err == nil {
		t.Errorf("read %q, %v", body, err)
	}
}

func TestAWriterWaitsForASlowReader(t *testing.T) {
	const whole = 8 * streamLimit
	var written atomic.Int64
	transport := asked(t, func(w http.ResponseWriter, _ *http.Request) {
		for range whole / 1024 {
			count, _ := w.Write(make([]byte, 1024))
			written.Add(int64(count))
		}
	})
	response, err := ask(t, context.Background(), transport)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if ahead := written.Load(); ahead > streamLimit+4096 {
		t.Errorf("%d bytes were written for a reader of one", ahead)
	}
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) != whole-1 {
		t.Errorf("read %d bytes, %v", len(rest), err)
	}
}
