"""Every error Headwater raises, in one tree.

    HeadwaterError
    ├── UsageError           the command was given something it cannot use
    │   └── AmbiguousName    a name that matches several jobs, datasets or columns
    ├── NoEvents             a file to import contains no events
    ├── UnknownName          a name that matches nothing on the server
    ├── ServerUnreachable    the lineage server did not answer
    ├── RequestRefused       the lineage server answered with an error
    ├── KeyMissing           without a key the server listens on loopback only
    ├── ServerExtraMissing   a package of the `server` extra is not installed
    ├── AddressUnavailable   the server cannot listen on its address
    ├── StoreError           the lineage store cannot be used
    │   ├── UnknownStore     an address of an unsupported kind of store
    │   ├── StoreUnreachable the database cannot be opened
    │   ├── WriteFailed      the store takes no writes at the moment
    │   ├── StoreTooNew      a newer version of Headwater has upgraded the store
    │   └── UpgradeBlocked   another server holds the lock of the store's upgrade
    ├── KafkaExtraMissing    the client of Kafka is not installed
    ├── UnknownPipeline      a cluster that the server does not know
    ├── UnknownKafkaCluster  a Kafka cluster that the server does not know
    ├── UnknownTopic         a topic that does not exist
    ├── KafkaUnreachable     the brokers of a Kafka cluster did not answer the server
    ├── PipelineUnreachable  a worker or Kafka Connect cluster did not answer the server
    ├── PipelineAnswerUnusable  a cluster sent an answer that is not passed on
    ├── EventRejected        an event that cannot be accepted
    │   ├── EventTooLarge    an event, or a body, with too many bytes or values
    │   ├── RunOfAnother     an event of a run that its key may not report
    │   └── EventNotStored   an event that the store cannot hold
    ├── TakesLong            an event is not read on the event loop, but in a thread
    ├── BodyRejected         the body of a request cannot be read at all
    ├── AnswerTooLarge       an answer has more names, columns or changes than one may hold
    ├── TooManySplits        a node id can be read in more ways than are tried
    ├── ServerBusy           the server has too many large requests or answers
    ├── CaptureError         capture cannot be attached
    │   ├── BadSetting       an invalid setting of capture
    │   ├── ApplicationFailed   the main method of a JVM application threw an exception
    │   ├── PlanTooLarge     a plan could fill the heap of its application
    │   └── SparkMissing     there is no Spark to observe
    ├── StackError           the local platform failed
    │   ├── StackExtraMissing   a package of the `stack` extra is not installed
    │   ├── JavaMissing         no Java that is new enough
    │   ├── FetchFailed         a jar could not be fetched
    │   ├── ChecksumMismatch    a jar does not have the checksum of the lock
    │   ├── ArchiveDamaged      an archive of the lock cannot be unpacked
    │   ├── DiskFull            no disk space for data or jars
    │   ├── PortInUse           another process uses the port of a service
    │   ├── AlreadyUp           a platform already runs in this folder
    │   ├── NotUp               no platform runs in this folder
    │   ├── ServiceFailed       a service did not come up
    │   ├── ServiceUnprepared   a service could not be prepared for its start
    │   └── MetastoreCorrupt    the metastore's database cannot be read
    ├── TraceError           a row or a record cannot be traced
    │   ├── SparkFailed         no Spark session could be started
    │   ├── BadPredicate        a predicate cannot be read, or holds what it must not
    │   ├── TableUnknown        a table does not exist, or is not of Iceberg
    │   └── RowMissing          no row of a table matches
    ├── DryRunError          the plan of a write cannot be had
    │   ├── DryRunFailed        an application or SQL text failed
    │   └── NothingWritten      it writes nothing into a table
    └── PipelineError        the data pipeline failed
        ├── PipelineExtraMissing  a package of the `pipeline` extra is not installed
        ├── BadConfig           a connector's configuration cannot be used
        ├── SecretMissing       a secret of a configuration is not defined
        ├── AddressMissing      a job has no address of a service
        ├── RegistryRefused     the schema registry rejected a request
        ├── BadSchema           a schema cannot be compiled, or has no type for a field
        ├── TableMissing        a table does not exist and must not be created
        ├── UnknownJob          a job that does not exist
        ├── JobInterrupted      a signal ended a batch job before it was done
        ├── TargetOwned         another connector writes where this one would
        ├── ObjectUnnamed       a file that Spark staged has no place among a topic's objects
        ├── StateInUse          another worker uses the same state
        ├── StateUnreadable     a stored connector cannot be read
        ├── UnknownConnector    a connector that does not exist
        ├── UnknownLogger       a logger or a level of logging that does not exist
        ├── ConnectorConflict   a request does not fit the connector's state
        └── WorkerRefused       a worker did not answer, or answered with an error

A class takes facts, stores them as attributes and builds its own message; its hint says
what to do. `exit_code` is the exit code of the command line.
"""

from headwater.errors.base import AmbiguousName as AmbiguousName
from headwater.errors.base import HeadwaterError as HeadwaterError
from headwater.errors.base import NoEvents as NoEvents
from headwater.errors.base import RequestRefused as RequestRefused
from headwater.errors.base import ServerUnreachable as ServerUnreachable
from headwater.errors.base import UnknownName as UnknownName
from headwater.errors.base import UsageError as UsageError
from headwater.errors.pipeline import AddressMissing as AddressMissing
from headwater.errors.pipeline import BadConfig as BadConfig
from headwater.errors.pipeline import BadSchema as BadSchema
from headwater.errors.pipeline import ConnectorConflict as ConnectorConflict
from headwater.errors.pipeline import JobInterrupted as JobInterrupted
from headwater.errors.pipeline import ObjectUnnamed as ObjectUnnamed
from headwater.errors.pipeline import PipelineError as PipelineError
from headwater.errors.pipeline import PipelineExtraMissing as PipelineExtraMissing
from headwater.errors.pipeline import RegistryRefused as RegistryRefused
from headwater.errors.pipeline import SecretMissing as SecretMissing
from headwater.errors.pipeline import StateInUse as StateInUse
from headwater.errors.pipeline import StateUnreadable as StateUnreadable
from headwater.errors.pipeline import TableMissing as TableMissing
from headwater.errors.pipeline import TargetOwned as TargetOwned
from headwater.errors.pipeline import UnknownConnector as UnknownConnector
from headwater.errors.pipeline import UnknownJob as UnknownJob
from headwater.errors.pipeline import UnknownLogger as UnknownLogger
from headwater.errors.pipeline import WorkerRefused as WorkerRefused
from headwater.errors.requests import AnswerTooLarge as AnswerTooLarge
from headwater.errors.requests import BodyRejected as BodyRejected
from headwater.errors.requests import EventNotStored as EventNotStored
from headwater.errors.requests import EventRejected as EventRejected
from headwater.errors.requests import EventTooLarge as EventTooLarge
from headwater.errors.requests import RunOfAnother as RunOfAnother
from headwater.errors.requests import ServerBusy as ServerBusy
from headwater.errors.requests import TakesLong as TakesLong
from headwater.errors.requests import TooManySplits as TooManySplits
from headwater.errors.server import AddressUnavailable as AddressUnavailable
from headwater.errors.server import KafkaExtraMissing as KafkaExtraMissing
from headwater.errors.server import KafkaUnreachable as KafkaUnreachable
from headwater.errors.server import KeyMissing as KeyMissing
from headwater.errors.server import PipelineAnswerUnusable as PipelineAnswerUnusable
from headwater.errors.server import PipelineUnreachable as PipelineUnreachable
from headwater.errors.server import ServerExtraMissing as ServerExtraMissing
from headwater.errors.server import StoreError as StoreError
from headwater.errors.server import StoreTooNew as StoreTooNew
from headwater.errors.server import StoreUnreachable as StoreUnreachable
from headwater.errors.server import UnknownKafkaCluster as UnknownKafkaCluster
from headwater.errors.server import UnknownPipeline as UnknownPipeline
from headwater.errors.server import UnknownStore as UnknownStore
from headwater.errors.server import UnknownTopic as UnknownTopic
from headwater.errors.server import UpgradeBlocked as UpgradeBlocked
from headwater.errors.server import WriteFailed as WriteFailed
from headwater.errors.spark import ApplicationFailed as ApplicationFailed
from headwater.errors.spark import BadPredicate as BadPredicate
from headwater.errors.spark import BadSetting as BadSetting
from headwater.errors.spark import CaptureError as CaptureError
from headwater.errors.spark import DryRunError as DryRunError
from headwater.errors.spark import DryRunFailed as DryRunFailed
from headwater.errors.spark import NothingWritten as NothingWritten
from headwater.errors.spark import PlanTooLarge as PlanTooLarge
from headwater.errors.spark import RowMissing as RowMissing
from headwater.errors.spark import SparkFailed as SparkFailed
from headwater.errors.spark import SparkMissing as SparkMissing
from headwater.errors.spark import TableUnknown as TableUnknown
from headwater.errors.spark import TraceError as TraceError
from headwater.errors.stack import AlreadyUp as AlreadyUp
from headwater.errors.stack import ArchiveDamaged as ArchiveDamaged
from headwater.errors.stack import ChecksumMismatch as ChecksumMismatch
from headwater.errors.stack import DiskFull as DiskFull
from headwater.errors.stack import FetchFailed as FetchFailed
from headwater.errors.stack import JavaMissing as JavaMissing
from headwater.errors.stack import MetastoreCorrupt as MetastoreCorrupt
from headwater.errors.stack import NotUp as NotUp
from headwater.errors.stack import PortInUse as PortInUse
from headwater.errors.stack import ServiceFailed as ServiceFailed
from headwater.errors.stack import ServiceUnprepared as ServiceUnprepared
from headwater.errors.stack import StackError as StackError
from headwater.errors.stack import StackExtraMissing as StackExtraMissing
