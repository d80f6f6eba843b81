"""The client for C# as a package for NuGet: its source, and the C library for this system."""

import ctypes
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

from common import (ABOUT, LICENSE, ROOT, TARGET, VERSION, Missing, built, copy, fresh, machine, run, write,
                    write_zip)

ID = "Myriad.Client"
FFI = ROOT / "client-bot/ffi"
PLATFORMS = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
LIBRARY = "libmyriad_client.so"


def build(options):
    folder = fresh(TARGET / "packages" / "nuget")
    native = f"runtimes/{PLATFORMS[machine()]}/native/{LIBRARY}"
    copy(built(options.profile, "client-ffi", LIBRARY), folder / native)
    # As source, which each compiler of C# understands, and Unity, too.
    copy(FFI / "csharp/Myriad.cs", folder / "contentFiles/cs/any/Myriad/Myriad.cs")
    copy(FFI / "include/myriad.h", folder / "build/native/include/myriad.h")
    copy(FFI / "package/README.md", folder / "README.md")
    write(folder / f"{ID}.nuspec", nuspec())
    write(folder / "_rels/.rels", RELATIONS)
    write(folder / "[Content_Types].xml", TYPES)
    path = options.out / f"{ID}.{VERSION}.nupkg"
    write_zip(folder, path)
    return path


def nuspec():
    homepage = f"<projectUrl>{escape(ABOUT['homepage'])}</projectUrl>" if ABOUT["homepage"] else ""
    return f"""\
<?xml version="1.0" encoding="utf-8"?>
<package xmlns="{SPACE}">
  <metadata>
    <id>{ID}</id>
    <version>{VERSION}</version>
    <title>Myriad client</title>
    <authors>{escape(ABOUT["authors"])}</authors>
    <license type="expression">{LICENSE}</license>
    {homepage}
    <readme>README.md</readme>
    <description>{escape(ABOUT["client_summary"])}, over its C library</description>
    <tags>{" ".join(ABOUT["keywords"])} unity</tags>
    <dependencies><group targetFramework=".NETStandard2.0" /></dependencies>
    <contentFiles><files include="cs/any/Myriad/Myriad.cs" buildAction="Compile" /></contentFiles>
  </metadata>
</package>
"""


def test(path):
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            archive.extractall(folder)
        folder = Path(folder)
        found = xml.parse(folder / f"{ID}.nuspec").find(f".//{{{SPACE}}}version")
        assert found is not None and found.text == VERSION
        library = ctypes.CDLL(folder / f"runtimes/{PLATFORMS[machine()]}/native/{LIBRARY}")
        library.myriad_error.restype = ctypes.c_char_p
        # A client that was never there is an error, with a sentence.
        assert library.myriad_poll(ctypes.c_uint64(7)) != 0
        assert library.myriad_error()
        if shutil.which("dotnet") is None:
            raise Missing("it is not restored into a project: there is no dotnet")
        restore(path, folder / "project")


def restore(path, project):
    write(project / "Use.csproj", f"""\
<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net8.0</TargetFramework></PropertyGroup>
  <ItemGroup><PackageReference Include="{ID}" Version="{VERSION}" /></ItemGroup>
</Project>
""")
    copy(FFI / "csharp/Walk.cs", project / "Walk.cs")
    words = ["dotnet", "build", "--source", path.resolve().parent, "--packages", project / "packages"]
    done = subprocess.run([str(word) for word in words], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


SPACE = "http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd"

RELATIONS = f"""\
<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{ID}.nuspec" Id="R1" />
</Relationships>
"""

TYPES = """\
<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />
  <Default Extension="nuspec" ContentType="application/octet" />
  <Default Extension="so" ContentType="application/octet" />
  <Default Extension="cs" ContentType="application/octet" />
  <Default Extension="h" ContentType="application/octet" />
  <Default Extension="md" ContentType="application/octet" />
</Types>
"""
